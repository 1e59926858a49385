#pragma once
/// \file
/// The role `store` of products on matrix units: a lane's sums are groups of four neighbours in a row of c.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/collective/pack.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::kernels::detail {

/// Stores up to four neighbouring sums of a row of c, from column `col` on, as the form says. `by_packs`: the row
/// length is a multiple of four, and the elements are aligned for one access. `at`: index of the first element in c.
template <class Store>
KOKKOS_INLINE_FUNCTION void store_four(float* c, std::size_t at, std::size_t col, int count,
                                       collective::Pack<float, 4> four, Store const& store, bool by_packs) {
  float* const to = c + at;
  TESSERA_UNROLL
  for (int e = 0; e < 4; ++e) {
    if (e >= count) continue;
    if constexpr (Store::changes) {
      four[e] = Store::finished(four[e], store.of_column(col + e));
      if constexpr (TakesElements<Store>) four[e] += store.of_element(at + e);
    }
    if constexpr (Store::adds) four[e] += to[e];
  }
  if (by_packs) {
    collective::pack_at<4>(to) = four;
  } else {
    TESSERA_UNROLL
    for (int e = 0; e < 4; ++e) {
      if (e < count) to[e] = four[e];
    }
  }
}

}  // namespace tessera::kernels::detail
