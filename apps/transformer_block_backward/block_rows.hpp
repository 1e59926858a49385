#pragma once
/// \file
/// What the variants share: x and its gradients as matrices, the shape of their attention, and the longest chain of
/// their stages.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/multi_head_attention.hpp>

namespace tessera::transformer_block_backward {

/// A matrix of a Plan, or the rows of x and its gradients.
template <class T, class Exec>
using MatrixOn = Array<T**, typename Exec::memory_space>;

/// Returns the rows of x or of a gradient in its shape: one per token of each sequence.
template <class View>
[[nodiscard]] auto rows_of(View const& of) {
  using Element = typename View::value_type;
  return Array<Element**, typename View::memory_space>(of.data(), of.extent(0) * of.extent(1), of.extent(2));
}

/// Returns the shape of the attention.
template <class Input>
[[nodiscard]] kernels::Heads heads_of(Input const& input) {
  return {.sequences = input.sequences(),
          .tokens = input.tokens(),
          .heads = input.heads(),
          .dim = input.d_head(),
          .causal = input.parameters.causal};
}

/// Returns the longest chain of roundings of a stage: those given, and at least 64, which the reference assumes.
[[nodiscard]] inline double longest_stage(std::initializer_list<double> stages) {
  return std::max(std::max(stages), 64.0);
}

}  // namespace tessera::transformer_block_backward
