// Normalises rows on the user's own Views, directly and while a product loads them.

#include "program.hpp"

#include <cmath>
#include <utility>

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Exec>;
using Row = Kokkos::View<float*, Exec>;

KOKKOS_INLINE_FUNCTION float element(std::size_t r, std::size_t c) {
  return 1000 + static_cast<float>((r + c * 5) % 7);
}
KOKKOS_INLINE_FUNCTION float gamma_of(std::size_t c) { return static_cast<float>(1 + c % 3); }

int differs_anywhere(char const* what, Matrix const& found_there) {
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found_there);
  std::size_t const cols = found.extent(1);
  int wrong = 0;
  for (std::size_t r = 0; r < found.extent(0); ++r) {
    double mean = 0;
    double variance = 0;
    for (std::size_t c = 0; c < cols; ++c) mean += static_cast<double>(element(r, c)) / static_cast<double>(cols);
    for (std::size_t c = 0; c < cols; ++c) variance += std::pow(element(r, c) - mean, 2) / static_cast<double>(cols);
    for (std::size_t c = 0; c < cols; ++c) {
      double const expected = gamma_of(c) * (element(r, c) - mean) / std::sqrt(variance + 1e-5) - 0.5;
      if (!(std::abs(found(r, c) - expected) < 1e-4)) {
        wrong = differs(what, r * cols + c, found(r, c), static_cast<float>(expected));
      }
    }
  }
  return wrong;
}

int check(Exec const& exec) {
  namespace kernels = tessera::kernels;
  int wrong = 0;
  for (auto const& [rows, cols] : {std::pair{0, 5}, {1, 1}, {3, 8}, {67, 33}, {100, 260}, {5, 3001}}) {
    Matrix const x("x", rows, cols);
    Matrix const ln("ln", rows, cols);
    Row const gamma("gamma", cols);
    Row const beta("beta", cols);
    Kokkos::deep_copy(beta, -0.5F);
    Kokkos::parallel_for(
        "fill", Kokkos::RangePolicy<Exec>(exec, 0, cols), KOKKOS_LAMBDA(int c) {
          gamma(c) = gamma_of(c);
          for (std::size_t r = 0; r < x.extent(0); ++r) x(r, c) = element(r, c);
        });
    kernels::layer_norm(exec, x, gamma, beta, 1e-5, ln);
    wrong += differs_anywhere("layer_norm", ln);

    // The same while a product loads x: the product with the identity matrix is ln.
    Matrix const ones("ones", cols, cols);
    Kokkos::parallel_for("ones", Kokkos::RangePolicy<Exec>(exec, 0, cols), KOKKOS_LAMBDA(int c) { ones(c, c) = 1; });
    Matrix const product("product", rows, cols);
    Row const mean("mean", rows);
    Row const inv_std("inv_std", rows);
    kernels::LayerNorm<Exec, float> const norm(exec, rows, cols, 1e-5);
    norm.statistics(exec, x, mean, inv_std);
    using NormalisedRows = kernels::ProductForm<false, false, kernels::NormaliseOnLoad<float>>;
    kernels::gemm(exec, x, ones, product,
                  NormalisedRows{.load = norm.on_load(x, gamma, beta, mean, inv_std), .store = {}});
    wrong += differs_anywhere("gemm of normalised rows", product);

    norm(exec, x, gamma, beta, x);  // in place
    exec.fence();
    wrong += differs_anywhere("layer_norm in place", x);
  }

  Matrix const x("x", 4, 6);
  Row const gamma("gamma", 6);
  wrong += accepts("a gamma of another length", [&] { kernels::layer_norm(exec, x, Row("short", 5), gamma, 1e-5, x); });
  wrong += accepts("rows of no elements", [&] {
    kernels::layer_norm(exec, Matrix("x", 4, 0), Row("g", 0), Row("b", 0), 1e-5, Matrix("x", 4, 0));
  });
  auto const part = Kokkos::subview(x, Kokkos::ALL, std::pair{0, 5});
  Row const of_part("of part", 5);
  wrong += accepts("rows with gaps", [&] { kernels::layer_norm(exec, part, of_part, of_part, 1e-5, part); });
  return wrong;
}
