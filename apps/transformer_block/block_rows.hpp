#pragma once
/// \file
/// What the variants share: x and y as matrices, the shapes of their kernels, and the longest chain of their stages.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>

#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/multi_head_attention.hpp>

namespace tessera::transformer_block {

/// A matrix of a Plan, or the rows of x and y.
template <class T, class Exec>
using MatrixOn = Array<T**, typename Exec::memory_space>;

/// Returns the rows of x, or of y: one per token of each sequence.
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

/// Returns the longest chain of roundings of a stage: those given, and at least 64, which the reference assumes
/// (a score, an exponential or gelu has fewer).
template <class Input>
[[nodiscard]] double longest_stage(Input const& input, std::initializer_list<double> stages) {
  return std::max({std::max(stages), static_cast<double>(input.d_head()) + 2, 64.0});
}

/// The results of the stages: one row per token.
template <ExecutionSpace Exec, class T>
struct BlockMemory {
  using Matrix = MatrixOn<T, Exec>;
  Matrix ln;
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix mean;    ///< of the values, from the attention
  Matrix a;       ///< x plus the attention's output
  Matrix hidden;  ///< units of the MLP

  BlockMemory(InputOn<TransformerBlock, Exec, T> const& in, std::string const& label)
      : ln(unset(label + "::ln"), in.rows(), in.d_model()),
        q(unset(label + "::q"), in.rows(), in.d_model()),
        k(unset(label + "::k"), in.rows(), in.d_model()),
        v(unset(label + "::v"), in.rows(), in.d_model()),
        mean(unset(label + "::mean"), in.rows(), in.d_model()),
        a(unset(label + "::a"), in.rows(), in.d_model()),
        hidden(unset(label + "::hidden"), in.rows(), in.d_ff()) {}
};

}  // namespace tessera::transformer_block
