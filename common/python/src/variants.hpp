#pragma once
/// \file
/// Variants of mini-apps on arrays of Python. No Python and no Kokkos.

#include <string>
#include <vector>

#include <tessera/core/info.hpp>

#include "array.hpp"

namespace tessera::python {

/// A field of a mini-app.
struct Field {
  Array const* array = nullptr;  ///< nullptr: a field without elements
  Shape shape;                   ///< as the mini-app has it, with as many elements as the array
};

/// A mini-app, one of its variants, and what it works on, in the order of its fields. Output fields that are left out
/// have no elements.
struct VariantCall {
  std::string app;
  std::string variant;
  DType dtype;
  ParameterMap parameters;
  std::vector<Field> input;
  std::vector<Field> output;
};

/// Runs a variant on the space of the first array's memory, and waits. Throws std::invalid_argument, with the names of
/// those that can be used, if this build has no such variant for the array's memory and dtype, and if the variant
/// cannot run this input, leaves a part of the output unwritten, or runs on ranks.
void run_variant(VariantCall const& call);

}  // namespace tessera::python
