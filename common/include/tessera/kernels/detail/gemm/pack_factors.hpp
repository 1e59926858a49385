#pragma once
/// \file
/// The role `load` of products whose factors a first launch rounds and packs: it reads four neighbours of k at a time.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/collective/pack.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::kernels::detail {

/// A matrix of `rows` x `k` as memory holds it, or as its transpose. Elements change as `load` says (product_form.hpp).
template <bool Transposed, class Load>
struct RowsOfFactors {
  float const* from;
  std::size_t rows;
  std::size_t k;
  bool is_aligned;  // rows can be read four elements at a time
  Load load;

  /// Returns the elements first .. first + 3 of a row, zeros outside the matrix.
  [[nodiscard]] KOKKOS_FUNCTION collective::Pack<float, 4> four(std::size_t row, std::size_t first) const {
    collective::Pack<float, 4> four{};
    if (row >= rows || first >= k) return four;
    if (!Transposed && is_aligned && first + 4 <= k) {
      four = collective::pack_at<4>(from + row * k + first);
      if constexpr (Load::changes) load.change(load.row(row), first, four);
      return four;
    }
    TESSERA_UNROLL
    for (std::size_t e = 0; e < 4; ++e) {
      if (first + e >= k) continue;
      collective::Pack<float, 1> one{Transposed ? from[(first + e) * rows + row] : from[row * k + first + e]};
      if constexpr (Load::changes) load.change(load.row(row), first + e, one);
      four[static_cast<int>(e)] = one[0];
    }
    return four;
  }
};

/// Both in one launch: first the calls for a.
template <class Left, class Right>
struct PackFactors {
  Left left;
  Right right;
  std::size_t calls_of_left;

  KOKKOS_FUNCTION void operator()(std::size_t i) const { i < calls_of_left ? left(i) : right(i - calls_of_left); }
};

}  // namespace tessera::kernels::detail
