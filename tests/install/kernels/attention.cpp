// Attention on the user's own Views, without storing scores in memory.

#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <tessera/kernels/attention.hpp>
#include <tessera/kernels/merge_attention.hpp>
#include <tessera/kernels/tensor_attention.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
template <class T>
using MatrixOf = Kokkos::View<T**, Kokkos::LayoutRight, Exec>;
using Matrix = MatrixOf<double>;

template <class T = double>
MatrixOf<T> filled(std::string const& label, int rows, int cols, int seed) {
  MatrixOf<T> const matrix(label, rows, cols);
  auto const host = Kokkos::create_mirror_view(matrix);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) host(r, c) = static_cast<T>((r * 37 + c * 11 + seed) % 101 * 0.02 - 1);
  }
  Kokkos::deep_copy(matrix, host);
  return matrix;
}

template <class T>
auto on_host(MatrixOf<T> const& matrix) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, matrix);
}

// Compares with the formula.
template <class T>
int compare(char const* what, MatrixOf<T> const& q_in, MatrixOf<T> const& k_in, MatrixOf<T> const& v_in, double scale,
            MatrixOf<T> const& out, double tolerance = 1e-12) {
  auto const q = on_host(q_in);
  auto const k = on_host(k_in);
  auto const v = on_host(v_in);
  auto const found = on_host(out);
  std::vector<double> weight(k.extent(0));
  int wrong = 0;
  for (std::size_t b = 0; b < q.extent(0); ++b) {
    double max = -INFINITY;
    for (std::size_t j = 0; j < k.extent(0); ++j) {
      weight[j] = 0;
      for (std::size_t c = 0; c < q.extent(1); ++c) weight[j] += static_cast<double>(q(b, c)) * k(j, c) * scale;
      max = std::max(max, weight[j]);
    }
    double total = 0;
    for (double& w : weight) total += w = std::exp(w - max);
    for (std::size_t c = 0; c < q.extent(1); ++c) {
      double expected = 0;
      for (std::size_t j = 0; j < k.extent(0); ++j) expected += weight[j] / total * v(j, c);
      double const value = found(b, c);
      if (!(std::abs(value - expected) <= tolerance)) wrong += differs(what, c, value, expected);
    }
  }
  return wrong;
}

// Uses the tiles for many queries also for few.
template <int Terms>
struct OfManyQueries : tessera::kernels::TensorAttentionTuning<Exec, Terms> {
  template <class Body>
  static void choose(std::size_t columns, bool, Body const& body) {
    tessera::kernels::TensorAttentionTuning<Exec, Terms>::choose(columns, false, body);
  }
};

// With three terms a weight of 1 reproduces v; with one term v keeps only 8 bits.
template <int Terms, class Tuning>
int check_units(Exec const& exec, int queries, int columns) {
  int wrong = 0;
  for (int const keys : {0, 1, 3, 333}) {
    double const tolerance = Terms == 1 ? 0.02 : keys <= 3 ? 1e-6 : 1e-5;
    tessera::kernels::TensorAttention<Exec, Terms, Tuning> const attend(exec, queries, keys, columns);
    auto const q = filled<float>("q", queries, columns, 1);
    auto const k = filled<float>("k", keys, columns, 2);
    auto const v = filled<float>("v", keys, columns, 3);
    MatrixOf<float> const out("out", queries, columns);
    Kokkos::deep_copy(exec, out, -1.0F);
    attend(exec, q, k, v, out, 0.125);
    exec.fence();
    wrong += compare("TensorAttention", q, k, v, 0.125, out, tolerance);
    Kokkos::deep_copy(exec, out, -1.0F);
    tessera::kernels::tensor_attention<Terms>(exec, q, k, v, out, 0.125);
    wrong += compare("tensor_attention", q, k, v, 0.125, out, tolerance);
  }
  return wrong;
}

// On matrix units, if the device has them.
int check_units(Exec const& exec) {
  int wrong = 0;
  if (!tessera::collective::has_matrix_units(exec) || tessera::collective::matrix_lanes<Exec> != 32) {
    try {
      tessera::kernels::TensorAttention<Exec, 3> const attend(exec, 100, 100, 64);
      std::cout << "TensorAttention takes a device that has no units of 32 lanes\n";
      return 1;
    } catch (tessera::Skip const& skip) {
      std::cout << "TensorAttention is skipped: " << skip.what() << '\n';
      return 0;
    }
  }
  for (int const queries : {0, 100, 257}) {
    for (int const columns : {50, 64, 100, 128}) {
      wrong += check_units<3, OfManyQueries<3>>(exec, queries, columns);
      wrong += check_units<3, tessera::kernels::TensorAttentionTuning<Exec, 3>>(exec, queries, columns);
    }
    for (int const columns : {7, 30, 64, 90, 128}) {
      wrong += check_units<1, OfManyQueries<1>>(exec, queries, columns);
    }
  }
  MatrixOf<float> const wide("wide", 100, 70);
  auto const part = Kokkos::subview(wide, Kokkos::ALL, std::pair{0, 64});
  auto const whole = filled<float>("whole", 100, 64, 1);
  MatrixOf<float> const out("out", 100, 64);
  tessera::kernels::TensorAttention<Exec, 3> const attend(exec, 100, 100, 64);
  wrong += accepts("rows with gaps", [&] { attend(exec, part, whole, whole, out); });
  wrong += accepts("another extent", [&] { attend(exec, whole, wide, whole, out); });
  wrong += accepts("a scale that is too small", [&] { attend(exec, whole, whole, whole, out, 1e-9); });
  return wrong;
}

int check(Exec const& exec) {
  using namespace tessera::kernels;
  int wrong = check_units(exec);
  for (int const queries : {0, 1, 7, 100}) {
    for (int const keys : {0, 1, 33, 2000}) {
      for (int const dim : {1, 5, 64, 256}) {
        Matrix const q = filled("q", queries, dim, 1);
        Matrix const k = filled("k", keys, dim, 2);
        Matrix const v = filled("v", keys, dim, 3);
        Matrix const out("out", queries, dim);
        double const scale = 1 / std::sqrt(dim);
        attention(exec, q, k, Kokkos::View<double const**, Kokkos::LayoutRight, Exec>(v), out, scale);
        wrong += compare("attention", q, k, v, scale, out);
        QueryTileAttention<Exec, double> const by_tiles(exec, queries, keys, dim);
        KeyStreamAttention<Exec, double> const by_pieces(exec, queries, keys, dim, 5);
        Kokkos::deep_copy(exec, out, -1.0);
        by_tiles(exec, q, k, v, out, scale);
        exec.fence();
        wrong += compare("QueryTileAttention", q, k, v, scale, out);
        Kokkos::deep_copy(exec, out, -1.0);
        by_pieces(exec, q, k, v, out, scale);
        exec.fence();
        wrong += compare("KeyStreamAttention", q, k, v, scale, out);
        Attention<Exec, double> const chosen(exec, queries, keys, dim);
        Kokkos::deep_copy(exec, out, -1.0);
        chosen(exec, q, k, v, out, scale);
        exec.fence();
        wrong += compare("Attention", q, k, v, scale, out);
        if (keys == 0) continue;
        // One kernel processes a third of the keys, another the rest, both created for all keys. Their pieces are
        // merged to the answer directly, and to one piece first.
        int const some = keys / 3;
        auto const part = [&](Matrix const& all, int begin, int end) {
          return Kokkos::View<double const**, Kokkos::LayoutRight, Exec>(all.data() + begin * dim, end - begin, dim);
        };
        KeyStreamAttention<Exec, double> const stream(exec, queries, keys, dim, 3, 0, "own", true);
        QueryTileAttention<Exec, double> const tiles(exec, queries, keys, dim);
        int const count = stream.pieces() + tiles.pieces();
        AttentionPieces<Exec, double> const pieces(queries, dim, count, "pieces");
        AttentionPieces<Exec, double> const one(queries, dim, 1, "one");
        stream(exec, q, part(k, 0, some), part(v, 0, some), pieces, 0, scale);
        tiles(exec, q, part(k, some, keys), part(v, some, keys), pieces, stream.pieces(), scale);
        MergePieces<Exec, double> const merge(exec, queries, dim, count);
        Kokkos::deep_copy(exec, out, -1.0);
        merge.answer(exec, pieces, out);
        exec.fence();
        wrong += compare("MergePieces", q, k, v, scale, out);
        merge.to_one(exec, pieces, one);
        Kokkos::deep_copy(exec, out, -1.0);
        MergePieces<Exec, double>(exec, queries, dim, 1).answer(exec, one, out);
        exec.fence();
        wrong += compare("MergePieces of one", q, k, v, scale, out);
      }
    }
  }

  // Must be refused: columns of a wider matrix (gaps between rows), and keys without values.
  Matrix const wide("wide", 4, 8);
  auto const part = Kokkos::subview(wide, Kokkos::ALL, std::pair(0, 4));
  Matrix const four("four", 4, 4);
  wrong += accepts("a part of a wider matrix", [&] { attention(exec, part, four, four, four); });
  wrong += accepts("keys without values", [&] { attention(exec, four, filled("k", 5, 4, 0), four, four); });
  wrong += accepts("a result of another shape", [&] { attention(exec, four, four, four, wide); });
  Matrix const five = filled("five", 5, 4, 0);
  KeyStreamAttention<Exec, double> const stream(exec, 4, 4, 4, 1, 0, "own", true);
  QueryTileAttention<Exec, double> const tiles(exec, 4, 4, 4);
  AttentionPieces<Exec, double> const pieces(4, 4, 1, "pieces");
  wrong += accepts("a piece of too many keys", [&] { stream(exec, four, five, five, pieces, 0, 1); });
  wrong += accepts("a piece of too many keys, by tiles", [&] { tiles(exec, four, five, five, pieces, 0, 1); });
  return wrong;
}
