#pragma once
/// \file
/// Inputs and outputs that are a single array.

#include <array>
#include <string_view>
#include <tuple>

#include <tessera/core/spaces.hpp>

namespace tessera {

/// An Input with one array, `a`.
template <class DataType, class Memory, class ProblemParameters>
struct SingleInput {
  Array<DataType, Memory> a;
  ProblemParameters parameters;

  static constexpr std::array<std::string_view, 1> names{"a"};
  static auto fields(auto& self) { return std::tie(self.a); }
};

/// An Output with one array, `out`.
template <class DataType, class Memory>
struct SingleOutput {
  Array<DataType, Memory> out;

  static constexpr std::array<std::string_view, 1> names{"out"};
  static auto fields(auto& self) { return std::tie(self.out); }
};

/// An Output with one array, `y`.
template <class DataType, class Memory>
struct OutputY {
  Array<DataType, Memory> y;

  static constexpr std::array<std::string_view, 1> names{"y"};
  static auto fields(auto& self) { return std::tie(self.y); }
};

}  // namespace tessera
