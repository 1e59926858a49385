#pragma once
/// \file
/// Memory for the results of a block's stages, for variants that keep them.

#include <Kokkos_Core.hpp>

#include <string>

#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::transformer_block {

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
