// Gradients of a layer normalisation on the user's own Views.

#include "program.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include <tessera/kernels/layer_norm_backward.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Exec>;
using Row = Kokkos::View<double*, Exec>;

KOKKOS_INLINE_FUNCTION double element(std::size_t r, std::size_t c) {
  return 1000 + 0.5 * static_cast<double>((r + c * 5) % 7);
}
KOKKOS_INLINE_FUNCTION double gradient(std::size_t r, std::size_t c) {
  return static_cast<double>((r * 3 + c * 11) % 13) - 6;
}
KOKKOS_INLINE_FUNCTION double gamma_of(std::size_t c) { return static_cast<double>(1 + c % 3); }

int differs_somewhere(char const* what, double found, double expected, std::size_t i, double size) {
  return std::abs(found - expected) <= 1e-11 * (1 + size) ? 0 : differs(what, i, found, expected);
}

int check(Exec const& exec, std::size_t rows, std::size_t cols) {
  Matrix const x("x", rows, cols);
  Matrix const dln("dln", rows, cols);
  Matrix const dx("dx", rows, cols);
  Row const gamma("gamma", cols);
  Row const dgamma("dgamma", cols);
  Row const dbeta("dbeta", cols);
  Kokkos::deep_copy(dgamma, -7.0);
  Kokkos::deep_copy(dbeta, -7.0);
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<Exec>(exec, 0, cols), KOKKOS_LAMBDA(int c) {
        gamma(c) = gamma_of(c);
        for (std::size_t r = 0; r < x.extent(0); ++r) x(r, c) = element(r, c);
        for (std::size_t r = 0; r < x.extent(0); ++r) dln(r, c) = gradient(r, c);
      });
  tessera::kernels::LayerNormBackward<Exec, double> const backward(exec, rows, cols, 1e-5);
  backward(exec, x, gamma, dln, dx, dgamma, dbeta);
  exec.fence();
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), dx);
  auto const of_gamma = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), dgamma);
  auto const of_beta = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), dbeta);
  auto const n = static_cast<double>(cols);
  std::vector<double> sums(cols);
  std::vector<double> sums_of_x(cols);
  int wrong = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double mean = 0;
    double variance = 0;
    for (std::size_t c = 0; c < cols; ++c) mean += (element(r, c) - 1000) / n;
    for (std::size_t c = 0; c < cols; ++c) variance += std::pow(element(r, c) - 1000 - mean, 2) / n;
    double const inverse = 1 / std::sqrt(variance + 1e-5);
    auto const xhat = [&](std::size_t c) { return (element(r, c) - 1000 - mean) * inverse; };
    double of_g = 0;
    double of_gx = 0;
    for (std::size_t c = 0; c < cols; ++c) {
      of_g += gradient(r, c) * gamma_of(c) / n;
      of_gx += gradient(r, c) * gamma_of(c) * xhat(c) / n;
      sums[c] += gradient(r, c);
      sums_of_x[c] += gradient(r, c) * xhat(c);
    }
    for (std::size_t c = 0; c < cols; ++c) {
      double const expected = inverse * (gradient(r, c) * gamma_of(c) - of_g - xhat(c) * of_gx);
      wrong += differs_somewhere("dx", found(r, c), expected, r * cols + c, 100 * inverse);
    }
  }
  for (std::size_t c = 0; c < cols; ++c) {
    wrong += differs_somewhere("dgamma", of_gamma(c), sums_of_x[c], c, 100 * static_cast<double>(rows));
    wrong += differs_somewhere("dbeta", of_beta(c), sums[c], c, static_cast<double>(rows));
  }
  return wrong;
}

int check(Exec const& exec) {
  int wrong = 0;
  for (auto const& [rows, cols] : {std::pair{0, 5}, {1, 1}, {3, 8}, {67, 33}, {300, 260}, {5, 3001}}) {
    wrong += check(exec, static_cast<std::size_t>(rows), static_cast<std::size_t>(cols));
  }
  tessera::kernels::LayerNormBackward<Exec, double> const backward(exec, 3, 4, 1e-5);
  Matrix const x("x", 3, 4);
  Matrix const dln("dln", 3, 4);
  Matrix const dx("dx", 3, 4);
  Matrix const other("other", 3, 5);
  Row const gamma("gamma", 4);
  Row const dgamma("dgamma", 4);
  Row const dbeta("dbeta", 4);
  // Must be refused: other extents, results in the memory of an input or of each other.
  wrong += accepts("another extent", [&] { backward(exec, x, gamma, other, dx, dgamma, dbeta); });
  wrong += accepts("a result in an input's memory", [&] { backward(exec, x, gamma, dln, x, dgamma, dbeta); });
  wrong += accepts("two results in the same memory", [&] { backward(exec, x, gamma, dln, dx, dgamma, dgamma); });
  return wrong;
}
