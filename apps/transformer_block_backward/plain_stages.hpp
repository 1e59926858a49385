#pragma once
/// \file
/// The stages of the variant `plain` besides its attention: one index per row of a layernorm, and per element of a
/// product or of a sum over rows.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>

#include "problem.hpp"

#include <tessera/kernels/product_form.hpp>  // gelu

namespace tessera::transformer_block_backward {

/// A layernorm, with what its gradients need.
template <ExecutionSpace Exec, class T>
struct PlainNormal {
  MatrixOn<T, Exec> xhat;
  ArrayOn<T*, Exec> inverse;  ///< of the standard deviations
  MatrixOn<T, Exec> ln;

  PlainNormal(std::size_t rows, std::size_t cols, std::string const& label)
      : xhat(unset(label + "::xhat"), rows, cols),
        inverse(unset(label + "::inverse"), rows),
        ln(unset(label + "::ln"), rows, cols) {}

  void operator()(Exec const& exec, MatrixOn<T const, Exec> const& x, ArrayOn<T const*, Exec> const& gamma,
                  ArrayOn<T const*, Exec> const& beta, T eps) const {
    auto const of_rows = xhat;
    auto const of_inverse = inverse;
    auto const of_ln = ln;
    std::size_t const n = x.extent(1);
    Kokkos::parallel_for(
        "tessera::transformer_block_backward::plain::layernorm", over(exec, x.extent(0)), KOKKOS_LAMBDA(std::size_t r) {
          T sum = 0;
          T squares = 0;
          for (std::size_t c = 0; c < n; ++c) sum += x(r, c) - x(r, 0);
          T const mean = sum / static_cast<T>(n);
          for (std::size_t c = 0; c < n; ++c) squares += (x(r, c) - x(r, 0) - mean) * (x(r, c) - x(r, 0) - mean);
          of_inverse(r) = 1 / Kokkos::sqrt(squares / static_cast<T>(n) + eps);
          for (std::size_t c = 0; c < n; ++c) {
            of_rows(r, c) = (x(r, c) - x(r, 0) - mean) * of_inverse(r);
            of_ln(r, c) = gamma(c) * of_rows(r, c) + beta(c);
          }
        });
  }

  /// dx = residual + the gradient of the rows, given that of ln.
  void backward(Exec const& exec, ArrayOn<T const*, Exec> const& gamma, MatrixOn<T const, Exec> const& dln,
                MatrixOn<T const, Exec> const& residual, MatrixOn<T, Exec> const& dx) const {
    auto const of_rows = xhat;
    auto const of_inverse = inverse;
    std::size_t const n = dln.extent(1);
    Kokkos::parallel_for(
        "tessera::transformer_block_backward::plain::rows", over(exec, dln.extent(0)), KOKKOS_LAMBDA(std::size_t r) {
          T mean = 0;
          T mean_of_x = 0;
          for (std::size_t c = 0; c < n; ++c) {
            mean += dln(r, c) * gamma(c) / static_cast<T>(n);
            mean_of_x += dln(r, c) * gamma(c) * of_rows(r, c) / static_cast<T>(n);
          }
          for (std::size_t c = 0; c < n; ++c) {
            dx(r, c) = residual(r, c) + of_inverse(r) * (dln(r, c) * gamma(c) - mean - of_rows(r, c) * mean_of_x);
          }
        });
  }

  /// dgamma and dbeta, given the gradient of ln.
  void scales(Exec const& exec, MatrixOn<T const, Exec> const& dln, ArrayOn<T*, Exec> const& dgamma,
              ArrayOn<T*, Exec> const& dbeta) const {
    auto const of_rows = xhat;
    Kokkos::parallel_for(
        "tessera::transformer_block_backward::plain::scales", over(exec, dln.extent(1)), KOKKOS_LAMBDA(std::size_t c) {
          dgamma(c) = 0;
          dbeta(c) = 0;
          for (std::size_t r = 0; r < dln.extent(0); ++r) dgamma(c) += dln(r, c) * of_rows(r, c);
          for (std::size_t r = 0; r < dln.extent(0); ++r) dbeta(c) += dln(r, c);
        });
  }
};

/// Layers and gelu.
template <ExecutionSpace Exec, class T>
struct PlainStages {
  using Matrix = MatrixOn<T, Exec>;
  using In = MatrixOn<T const, Exec>;
  using Vector = ArrayOn<T const*, Exec>;

  /// c = b w^T + bias, plus the residual if there is one.
  static void layer(Exec const& exec, In const& b, In const& w, Vector const& bias, Matrix const& c,
                    In const& residual = {}) {
    std::size_t const n = w.extent(0);
    Kokkos::parallel_for(
        "tessera::transformer_block_backward::plain::layer", over(exec, c.size()), KOKKOS_LAMBDA(std::size_t i) {
          T sum = 0;
          for (std::size_t h = 0; h < w.extent(1); ++h) sum += b(i / n, h) * w(i % n, h);
          c(i / n, i % n) = sum + bias(i % n) + (residual.size() > 0 ? residual(i / n, i % n) : T(0));
        });
  }

  /// db = dc w, or db += dc w.
  static void layer_backward(Exec const& exec, In const& dc, In const& w, Matrix const& db, bool adds = false) {
    std::size_t const n = w.extent(1);
    Kokkos::parallel_for(
        "tessera::transformer_block_backward::plain::product", over(exec, db.size()), KOKKOS_LAMBDA(std::size_t i) {
          T sum = adds ? db(i / n, i % n) : T(0);
          for (std::size_t o = 0; o < w.extent(0); ++o) sum += dc(i / n, o) * w(o, i % n);
          db(i / n, i % n) = sum;
        });
  }

  /// dw = dc^T b and dbias = the column sums of dc.
  static void weights(Exec const& exec, In const& dc, In const& b, Matrix const& dw, ArrayOn<T*, Exec> const& dbias) {
    std::size_t const n = dw.extent(1);
    Kokkos::parallel_for(
        "tessera::transformer_block_backward::plain::weights", over(exec, dw.size()), KOKKOS_LAMBDA(std::size_t i) {
          T sum = 0;
          for (std::size_t r = 0; r < dc.extent(0); ++r) sum += dc(r, i / n) * b(r, i % n);
          dw(i / n, i % n) = sum;
        });
    Kokkos::parallel_for(
        "tessera::transformer_block_backward::plain::bias", over(exec, dbias.size()), KOKKOS_LAMBDA(std::size_t o) {
          T sum = 0;
          for (std::size_t r = 0; r < dc.extent(0); ++r) sum += dc(r, o);
          dbias(o) = sum;
        });
  }

  static void gelu(Exec const& exec, Matrix const& h, Matrix const& u) {
    Kokkos::parallel_for(
        "tessera::transformer_block_backward::plain::gelu", over(exec, h.size()),
        KOKKOS_LAMBDA(std::size_t i) { u.data()[i] = kernels::gelu(h.data()[i]); });
  }

  /// du becomes dh.
  static void gelu_backward(Exec const& exec, Matrix const& h, Matrix const& du) {
    Kokkos::parallel_for(
        "tessera::transformer_block_backward::plain::gelu_gradient", over(exec, h.size()),
        KOKKOS_LAMBDA(std::size_t i) { du.data()[i] *= kernels::gelu_derivative(h.data()[i]); });
  }
};

}  // namespace tessera::transformer_block_backward
