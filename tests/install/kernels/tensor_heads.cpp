// Attention of several heads and sequences on matrix units, on the user's own Views, beside MultiHeadAttention.

#include "program.hpp"

#include <cmath>
#include <cstddef>
#include <iostream>
#include <utility>

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/tensor_heads.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Exec>;
using tessera::kernels::Heads;
using tessera::kernels::MultiHeadAttention;
using tessera::kernels::TensorHeads;

Matrix filled(Heads const& of, int seed) {
  Matrix const matrix("matrix", of.rows(), of.cols());
  auto const host = Kokkos::create_mirror_view(matrix);
  for (std::size_t r = 0; r < of.rows(); ++r) {
    for (std::size_t c = 0; c < of.cols(); ++c) {
      host(r, c) = static_cast<float>((r * 37 + c * 11 + static_cast<std::size_t>(seed)) % 101) * 0.02F - 1;
    }
  }
  Kokkos::deep_copy(matrix, host);
  return matrix;
}

template <int Terms>
int check(Exec const& exec, Heads const& of) {
  double const tolerance = Terms == 1 ? 0.02 : 1e-5;
  Matrix const q = filled(of, 1);
  Matrix const k = filled(of, 2);
  Matrix const v = filled(of, 3);
  Matrix const plain("plain", of.rows(), of.cols());
  Matrix const out("out", of.rows(), of.cols());
  Kokkos::deep_copy(out, -7.0F);
  MultiHeadAttention<Exec, float> const expect(exec, of);
  expect(exec, q, k, v, plain, 0.3F);
  TensorHeads<Exec, Terms> const attend(exec, of);
  attend(exec, q, k, v, out, 0.3);
  exec.fence();
  auto const expected = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, plain);
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);
  int wrong = 0;
  for (std::size_t r = 0; r < of.rows(); ++r) {
    for (std::size_t c = 0; c < of.cols(); ++c) {
      if (!(std::abs(found(r, c) - expected(r, c)) <= tolerance)) {
        wrong += differs("a head", r, found(r, c), expected(r, c));
      }
    }
  }
  return wrong;
}

int check(Exec const& exec) {
  if (!tessera::collective::has_matrix_units(exec) || tessera::collective::matrix_lanes<Exec> != 32) {
    try {
      TensorHeads<Exec, 1> const attend(exec, Heads{.tokens = 2, .dim = 64});
      std::cout << "TensorHeads takes a device that has no units of 32 lanes\n";
      return 1;
    } catch (tessera::Skip const& skip) {
      std::cout << "TensorHeads is skipped: " << skip.what() << '\n';
      return 0;
    }
  }
  int wrong = 0;
  for (bool const causal : {true, false}) {
    for (std::size_t const tokens : {0, 1, 63, 64, 129, 1000}) {
      for (auto const& [heads, dim] :
           {std::pair<std::size_t, std::size_t>{1, 64}, {3, 64}, {2, 128}, {5, 7}, {2, 90}}) {
        for (std::size_t const sequences : {1, 3}) {
          Heads const of{.sequences = sequences, .tokens = tokens, .heads = heads, .dim = dim, .causal = causal};
          wrong += check<1>(exec, of);
          if (dim >= 48) wrong += check<3>(exec, of);
        }
      }
    }
  }
  // Must be refused: other extents, a result in an input's memory, a scale that is too small.
  Heads const two{.sequences = 1, .tokens = 2, .heads = 1, .dim = 4};
  Matrix const q = filled(two, 1);
  Matrix const k = filled(two, 2);
  Matrix const out("out", 2, 4);
  Matrix const wide("wide", 2, 8);
  TensorHeads<Exec, 1> const attend(exec, two);
  wrong += accepts("another extent", [&] { attend(exec, q, wide, k, out, 1); });
  wrong += accepts("a result in an input's memory", [&] { attend(exec, q, k, k, q, 1); });
  wrong += accepts("a scale that is too small", [&] { attend(exec, q, k, k, out, 1e-9); });
  return wrong;
}
