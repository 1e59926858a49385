// Gradients of an attention of several heads and sequences on the user's own Views.

#include "program.hpp"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/multi_head_attention_backward.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Exec>;
using Host = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
using tessera::kernels::Heads;
using tessera::kernels::MultiHeadAttention;
using tessera::kernels::MultiHeadAttentionBackward;

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

Host on_host(Matrix const& matrix) {
  Host const host("host", matrix.extent(0), matrix.extent(1));
  Kokkos::deep_copy(host, matrix);
  return host;
}

int compare(char const* what, Matrix const& found_there, Host const& expected) {
  Host const found = on_host(found_there);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::abs(found.data()[i] - expected.data()[i]) <= 1e-11)) {
      return differs(what, i, found.data()[i], expected.data()[i]);
    }
  }
  return 0;
}

// Compares with the formulas.
int check(Exec const& exec, Heads const& of) {
  double const scale = 0.3;
  Matrix const q_there = filled(of, 1);
  Matrix const k_there = filled(of, 2);
  Matrix const v_there = filled(of, 3);
  Matrix const g_there = filled(of, 4);
  Matrix const out("out", of.rows(), of.cols());
  Matrix const dq_there("dq", of.rows(), of.cols());
  Matrix const dk_there("dk", of.rows(), of.cols());
  Matrix const dv_there("dv", of.rows(), of.cols());
  for (Matrix const& m : {dq_there, dk_there, dv_there}) Kokkos::deep_copy(m, -7.0);
  MultiHeadAttention<Exec, double> const attend(exec, of);
  MultiHeadAttentionBackward<Exec, double> const backward(exec, of);
  attend(exec, q_there, k_there, v_there, out, scale);
  backward(exec, q_there, k_there, v_there, out, g_there, dq_there, dk_there, dv_there, scale);
  exec.fence();
  Host const q = on_host(q_there);
  Host const k = on_host(k_there);
  Host const v = on_host(v_there);
  Host const g = on_host(g_there);
  Host const dq("dq", of.rows(), of.cols());
  Host const dk("dk", of.rows(), of.cols());
  Host const dv("dv", of.rows(), of.cols());
  for (std::size_t row = 0; row < of.rows(); ++row) {
    std::size_t const first = row / of.tokens * of.tokens;
    std::size_t const end = of.causal ? row + 1 : first + of.tokens;
    for (std::size_t begin = 0; begin < of.cols(); begin += of.dim) {
      auto const dot = [&](Host const& a, Host const& b, std::size_t key) {
        double sum = 0;
        for (std::size_t c = begin; c < begin + of.dim; ++c) sum += a(row, c) * b(key, c);
        return sum;
      };
      std::vector<double> p;
      double total = 0;
      for (std::size_t key = first; key < end; ++key) total += p.emplace_back(std::exp(scale * dot(q, k, key)));
      double mean = 0;
      for (double& weight : p) weight /= total;
      for (std::size_t key = first; key < end; ++key) mean += p[key - first] * dot(g, v, key);
      for (std::size_t key = first; key < end; ++key) {
        double const ds = scale * p[key - first] * (dot(g, v, key) - mean);
        for (std::size_t c = begin; c < begin + of.dim; ++c) {
          dq(row, c) += ds * k(key, c);
          dk(key, c) += ds * q(row, c);
          dv(key, c) += p[key - first] * g(row, c);
        }
      }
    }
  }
  return compare("dq", dq_there, dq) + compare("dk", dk_there, dk) + compare("dv", dv_there, dv);
}

int check(Exec const& exec) {
  int wrong = 0;
  for (bool const causal : {true, false}) {
    for (std::size_t const tokens : {0, 1, 2, 31, 33, 130}) {
      for (auto const& [heads, dim] :
           {std::pair<std::size_t, std::size_t>{1, 64}, {3, 64}, {2, 128}, {5, 7}, {1, 256}}) {
        wrong += check(exec, {.sequences = 2, .tokens = tokens, .heads = heads, .dim = dim, .causal = causal});
      }
    }
  }
  wrong += check(exec, {.sequences = 0, .tokens = 5, .heads = 2, .dim = 8});
  Heads const two{.sequences = 1, .tokens = 2, .heads = 1, .dim = 4};
  Matrix const q = filled(two, 1);
  Matrix const g = filled(two, 2);
  Matrix const dq("dq", 2, 4);
  Matrix const dk("dk", 2, 4);
  Matrix const dv("dv", 2, 4);
  MultiHeadAttentionBackward<Exec, double> const backward(exec, two);
  // Must be refused: other extents, rows with gaps, results in the memory of an input or of each other, wide heads.
  Matrix const wide("wide", 2, 8);
  auto const part = Kokkos::subview(wide, Kokkos::ALL, std::pair(0, 4));
  wrong += accepts("another extent", [&] { backward(exec, q, wide, q, q, g, dq, dk, dv, 1); });
  wrong += accepts("rows with gaps", [&] { backward(exec, q, part, q, q, g, dq, dk, dv, 1); });
  wrong += accepts("a result in an input's memory", [&] { backward(exec, q, q, q, q, g, dq, g, dv, 1); });
  wrong += accepts("two results in the same memory", [&] { backward(exec, q, q, q, q, g, dq, dk, dk, 1); });
  try {
    MultiHeadAttentionBackward<Exec, double> const too_wide(exec, Heads{.tokens = 2, .dim = 257});
    wrong += differs("columns of a head", 0, 257, 256);
  } catch (tessera::Skip const&) {  // as documented
  }
  return wrong;
}
