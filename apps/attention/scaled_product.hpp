#pragma once
/// \file
/// The product of the queries and the keys. It multiplies q by the scale, so that the softmax does not have to.

#include <cstddef>

#include <tessera/kernels/gemm.hpp>

namespace tessera::attention {

template <class T>
struct ScaleOnLoad {
  static constexpr bool changes = true;
  struct Row {};

  T scale;

  [[nodiscard]] KOKKOS_FUNCTION Row row(std::size_t) const { return {}; }
  template <int W>
  KOKKOS_FUNCTION void change(Row const&, std::size_t, collective::Pack<T, W>& values) const {
    for (int e = 0; e < W; ++e) values[e] *= scale;
  }
  template <int W>
  [[nodiscard]] bool is_aligned() const {
    return true;
  }
};

template <class T>
using ScaledProduct = kernels::ProductForm<false, false, ScaleOnLoad<T>>;

}  // namespace tessera::attention
