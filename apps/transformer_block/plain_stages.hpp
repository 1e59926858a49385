#pragma once
/// \file
/// The stages of the variant `plain` besides its attention.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include "block_memory.hpp"

#include <tessera/collective/in_range.hpp>
#include <tessera/kernels/multi_head_attention.hpp>  // Heads
#include <tessera/kernels/product_form.hpp>          // gelu

namespace tessera::transformer_block {

/// One index per row of a layernorm, and per element of a product.
template <ExecutionSpace Exec, class T>
struct PlainStages {
  using Matrix = MatrixOn<T, Exec>;
  using In = MatrixOn<T const, Exec>;
  using Vector = ArrayOn<T const*, Exec>;

  static void normalise(Exec const& exec, In const& x, Vector const& gamma, Vector const& beta, T eps,
                        Matrix const& ln) {
    std::size_t const n = x.extent(1);
    Kokkos::parallel_for(
        "tessera::transformer_block::plain::layernorm", over(exec, x.extent(0)), KOKKOS_LAMBDA(std::size_t r) {
          T mean = 0;
          T inverse = 0;
          for (T scale = 1;; scale = collective::shrink<T>) {  // once more if a sum has left the range
            T sum = 0;
            T squares = 0;
            for (std::size_t h = 0; h < n; ++h) sum += (x(r, h) - x(r, 0)) * scale;
            mean = sum / static_cast<T>(n) / scale;
            for (std::size_t h = 0; h < n; ++h) {
              T const deviation = (x(r, h) - x(r, 0) - mean) * scale;
              squares += deviation * deviation;
            }
            inverse = scale / Kokkos::sqrt(squares / static_cast<T>(n) + eps * scale * scale);
            if (inverse > 0 || scale < 1) break;
          }
          for (std::size_t h = 0; h < n; ++h) ln(r, h) = gamma(h) * ((x(r, h) - x(r, 0) - mean) * inverse) + beta(h);
        });
  }

  /// c = a w^T + bias, plus the residual if there is one.
  static void multiply(Exec const& exec, In const& a, In const& w, Vector const& bias, Matrix const& c,
                       In const& residual = {}) {
    std::size_t const n = w.extent(0);
    Kokkos::parallel_for(
        "tessera::transformer_block::plain::product", over(exec, c.size()), KOKKOS_LAMBDA(std::size_t i) {
          T sum = 0;
          for (std::size_t h = 0; h < w.extent(1); ++h) sum += a(i / n, h) * w(i % n, h);
          c(i / n, i % n) = sum + bias(i % n) + (residual.size() > 0 ? residual(i / n, i % n) : T(0));
        });
  }

  static void apply_gelu(Exec const& exec, Matrix const& hidden) {
    Kokkos::parallel_for(
        "tessera::transformer_block::plain::gelu", over(exec, hidden.size()),
        KOKKOS_LAMBDA(std::size_t i) { hidden.data()[i] = kernels::gelu(hidden.data()[i]); });
  }
};

}  // namespace tessera::transformer_block
