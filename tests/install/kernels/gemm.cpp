// Matrix products on the user's own Views: plain, with a transposed operand, with a bias, with k in parts, and on
// matrix units, whose factors have a smaller range than float.

#include "program.hpp"

#include <cstdint>
#include <tuple>
#include <utility>

#include <tessera/core/half.hpp>
#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/largest_magnitude.hpp>
#include <tessera/kernels/tensor_gemm.hpp>
#include <tessera/kernels/tf32_gemm.hpp>
#include <tessera/kernels/warpgroup_gemm.hpp>
#include <tessera/kernels/warpgroup_tf32_gemm.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Exec>;

// Whole numbers that are small enough for every sum to be exact.
KOKKOS_INLINE_FUNCTION int element(std::size_t r, std::size_t c) { return static_cast<int>((r * 7 + c * 3) % 11) - 5; }

template <class T>
Matrix<T> filled(Exec const& exec, int rows, int cols, bool transposed = false) {
  Matrix<T> const matrix("matrix", transposed ? cols : rows, transposed ? rows : cols);
  std::size_t const across = matrix.extent(1);
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<Exec>(exec, 0, matrix.size()), KOKKOS_LAMBDA(std::size_t i) {
        std::size_t const r = i / across;
        std::size_t const c = i - r * across;
        matrix(r, c) = static_cast<T>(transposed ? element(c, r) : element(r, c));
      });
  return matrix;
}

template <class T>
int differs_anywhere(char const* what, Matrix<T> const& c, int k, bool biased = false) {
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), c);
  int wrong = 0;
  for (std::size_t row = 0; row < c.extent(0); ++row) {
    for (std::size_t col = 0; col < c.extent(1); ++col) {
      int sum = biased ? element(0, col) : 0;
      for (int i = 0; i < k; ++i) sum += element(row, i) * element(i, col);
      if (found(row, col) != static_cast<T>(sum)) wrong = differs(what, row, found(row, col), static_cast<T>(sum));
    }
  }
  return wrong;
}

template <class T>
int check_products(Exec const& exec, int m, int n, int k) {
  namespace kernels = tessera::kernels;
  auto const a = filled<T>(exec, m, k);
  auto const b = filled<T>(exec, k, n);
  Matrix<T> const c("c", m, n);
  kernels::gemm(exec, a, b, c);
  int wrong = differs_anywhere("gemm", c, k);
  kernels::gemm(exec, filled<T>(exec, m, k, true), b, c, kernels::TransposedA{});
  wrong += differs_anywhere("gemm, a transposed", c, k);

  // The product of a linear layer: w is stored as [n, k], and there is a bias.
  using Layer = kernels::ProductForm<false, true, kernels::AsStored, kernels::SumAndBias<T>>;
  auto const w = filled<T>(exec, k, n, true);
  auto const bias = filled<T>(exec, 1, n);
  kernels::Gemm<Exec, T, Layer> const layer(exec, m, n, k);
  layer(exec, a, w, c, {.load = {}, .store = kernels::sum_and_bias(exec, Kokkos::subview(bias, 0, Kokkos::ALL), n)});
  exec.fence();
  return wrong + differs_anywhere("gemm, b transposed, with a bias", c, k, true);
}

// On matrix units, emulated on hosts: numbers with so few bits are not rounded.
template <class Factor>
int check_on_units(Exec const& exec, int m, int n, int k) {
  auto const a = filled<float>(exec, m, k);
  auto const b = filled<float>(exec, k, n);
  Matrix<float> const c("c", m, n);
  tessera::kernels::TensorGemm<Exec, Factor> const gemm(exec, m, n, k);
  gemm(exec, a, b, c);
  exec.fence();
  int wrong = differs_anywhere("tensor_gemm", c, k);
  tessera::kernels::Tf32Gemm<Exec, 2> const of_tf32(exec, m, n, k);
  of_tf32(exec, a, b, c);
  exec.fence();
  wrong += differs_anywhere("tf32_gemm", c, k);
  tessera::kernels::Tf32Gemm<Exec, 2, tessera::kernels::TransposedA> const of_transpose(exec, m, n, k);
  of_transpose(exec, filled<float>(exec, m, k, true), b, c);
  exec.fence();
  wrong += differs_anywhere("tf32_gemm, a transposed", c, k);

  Kokkos::deep_copy(c, -1);
  tessera::kernels::tensor_gemm<Factor>(exec, filled<float>(exec, m, k, true), b, c, tessera::kernels::TransposedA{});
  wrong += differs_anywhere("tensor_gemm once, a transposed", c, k);
  Kokkos::deep_copy(c, -1);
  tessera::kernels::tf32_gemm<1>(exec, a, b, c);
  wrong += differs_anywhere("tf32_gemm once, one term", c, k);
  // Code only for 9.0a: this program is built like any other.
  try {
    tessera::kernels::warpgroup_gemm<Factor>(exec, a, b, c);
    wrong += differs_anywhere("warpgroup_gemm once", c, k);
  } catch (tessera::Skip const& skip) {
    std::printf("warpgroup_gemm is skipped: %s\n", skip.what());
  }
  try {
    Kokkos::deep_copy(c, -1);
    tessera::kernels::warpgroup_tf32_gemm<2>(exec, a, b, c);
    wrong += differs_anywhere("warpgroup_tf32_gemm once", c, k);
  } catch (tessera::Skip const& skip) {
    std::printf("warpgroup_tf32_gemm is skipped: %s\n", skip.what());
  }
  float const largest = tessera::kernels::largest_magnitude(exec, a);
  return largest == 5.0F ? wrong : differs("largest_magnitude", 0, largest, 5.0F);
}

int check(Exec const& exec) {
  int wrong = check_products<float>(exec, 0, 5, 7) + check_products<float>(exec, 5, 0, 7);
  for (auto const& [m, n, k] : {std::tuple{1, 1, 0}, {1, 1, 1}, {33, 65, 31}, {64, 128, 256}, {3, 5, 4001}}) {
    wrong += check_products<float>(exec, m, n, k) + check_products<std::int32_t>(exec, m, n, k);
  }
  wrong += check_on_units<tessera::Half>(exec, 33, 65, 31) + check_on_units<tessera::BFloat16>(exec, 64, 128, 256);

  Matrix<float> const matrix("matrix", 6, 6);
  Matrix<float> const c("c", 4, 4);
  auto const part = Kokkos::subview(matrix, std::pair{0, 4}, std::pair{0, 4});
  wrong += accepts("rows with gaps", [&] { tessera::kernels::gemm(exec, part, c, c); });
  wrong += accepts("a bias with a stride",
                   [&] { (void)tessera::kernels::sum_and_bias(exec, Kokkos::subview(matrix, Kokkos::ALL, 1), 6); });
  wrong += accepts("a bias of another length",
                   [&] { (void)tessera::kernels::sum_and_bias(exec, Kokkos::View<float*, Exec>("bias", 5), 6); });
  wrong += accepts("extents that do not fit", [&] { tessera::kernels::gemm(exec, matrix, matrix, c); });
  return wrong;
}
