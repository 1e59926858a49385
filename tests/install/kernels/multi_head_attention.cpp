// Attention of several heads and sequences on the user's own Views, causal or not.

#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <tessera/kernels/multi_head_attention.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Exec>;
using tessera::kernels::Heads;
using tessera::kernels::MultiHeadAttention;

Matrix filled(Heads const& of, int seed) {
  Matrix const matrix("matrix", of.rows(), of.cols());
  auto const host = Kokkos::create_mirror_view(matrix);
  for (std::size_t r = 0; r < of.rows(); ++r) {
    for (std::size_t c = 0; c < of.cols(); ++c) {
      host(r, c) = static_cast<double>((r * 37 + c * 11 + static_cast<std::size_t>(seed)) % 101) * 0.02 - 1;
    }
  }
  Kokkos::deep_copy(matrix, host);
  return matrix;
}

// Compares with the formula.
int check(Exec const& exec, Heads const& of) {
  double const scale = 0.3;
  Matrix const q = filled(of, 1);
  Matrix const k = filled(of, 2);
  Matrix const v = filled(of, 3);
  Matrix const out("out", of.rows(), of.cols());
  Kokkos::deep_copy(out, -7.0);
  MultiHeadAttention<Exec, double> const attend(exec, of);
  attend(exec, q, k, v, out, scale);
  exec.fence();
  auto const host = [](Matrix const& matrix) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, matrix);
  };
  auto const queries = host(q);
  auto const keys = host(k);
  auto const values = host(v);
  auto const found = host(out);
  int wrong = 0;
  for (std::size_t row = 0; row < of.rows(); ++row) {
    std::size_t const first = row / of.tokens * of.tokens;
    std::size_t const end = of.causal ? row + 1 : first + of.tokens;
    for (std::size_t begin = 0; begin < of.cols(); begin += of.dim) {
      std::vector<double> weight;
      double total = 0;
      for (std::size_t key = first; key < end; ++key) {
        double score = 0;
        for (std::size_t c = begin; c < begin + of.dim; ++c) score += queries(row, c) * keys(key, c);
        weight.push_back(std::exp(scale * score));
        total += weight.back();
      }
      for (std::size_t c = begin; c < begin + of.dim; ++c) {
        double expected = 0;
        for (std::size_t key = first; key < end; ++key) expected += weight[key - first] / total * values(key, c);
        if (!(std::abs(found(row, c) - expected) <= 1e-12)) wrong += differs("a head", c, found(row, c), expected);
      }
    }
  }
  return wrong;
}

// The last value is NaN: only the last query sees it.
int check_hidden_value(Exec const& exec) {
  Heads const of{.tokens = 70, .dim = 8};
  Matrix const v = filled(of, 3);
  Kokkos::deep_copy(Kokkos::subview(v, 69, 5), NAN);
  Matrix const out("out", of.rows(), of.cols());
  MultiHeadAttention<Exec, double> const attend(exec, of);
  attend(exec, filled(of, 1), filled(of, 2), v, out, 1);
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);
  int wrong = 0;
  for (std::size_t row = 0; row < of.rows(); ++row) {
    for (std::size_t c = 0; c < of.cols(); ++c) {
      wrong += differs("a hidden value", row, std::isnan(found(row, c)), row == 69 && c == 5);
    }
  }
  return wrong;
}

int check(Exec const& exec) {
  int wrong = 0;
  for (bool const causal : {true, false}) {
    for (std::size_t const tokens : {0, 1, 2, 63, 64, 65, 300}) {
      for (auto const& [heads, dim] :
           {std::pair<std::size_t, std::size_t>{1, 64}, {3, 64}, {2, 128}, {5, 7}, {1, 256}}) {
        wrong += check(exec, {.sequences = 1, .tokens = tokens, .heads = heads, .dim = dim, .causal = causal});
        wrong += check(exec, {.sequences = 3, .tokens = tokens, .heads = heads, .dim = dim, .causal = causal});
      }
    }
  }
  wrong += check(exec, {.sequences = 0, .tokens = 5, .heads = 2, .dim = 8});
  wrong += check_hidden_value(exec);
  Heads const two{.sequences = 1, .tokens = 2, .heads = 1, .dim = 4};
  Matrix const q = filled(two, 1);
  Matrix const k = filled(two, 2);
  Matrix const out("out", 2, 4);
  MultiHeadAttention<Exec, double> const attend(exec, two);
  // Must be refused: other extents, rows with gaps, a result in an input's memory, heads that are too wide.
  Matrix const wide("wide", 2, 8);
  auto const part = Kokkos::subview(wide, Kokkos::ALL, std::pair(0, 4));
  wrong += accepts("another extent", [&] { attend(exec, q, wide, k, out, 1); });
  wrong += accepts("rows with gaps", [&] { attend(exec, q, part, k, out, 1); });
  wrong += accepts("a result in an input's memory", [&] { attend(exec, q, k, k, q, 1); });
  try {
    MultiHeadAttention<Exec, double> const too_wide(exec, Heads{.tokens = 2, .dim = 257});
    wrong += differs("columns of a head", 0, 257, 256);
  } catch (tessera::Skip const&) {  // as documented
  }
  return wrong;
}
