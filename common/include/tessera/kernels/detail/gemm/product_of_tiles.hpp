#pragma once
/// \file
/// The common part of product kernels on multiply-add units, in which one team computes one tile of c.

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>

namespace tessera::kernels::detail {

/// Operands, tiles and form of c = a b. A team sums one chunk of k; if there are several, c is the first of `count`
/// contiguous matrices [m, n].
template <class T, class Form>
class ProductOfTiles {
 public:
  ProductOfTiles(T const* a, T const* b, T* c, Chunks const& k, collective::MatrixTiles const& tiles,
                 Form const& form = {})
      : a_(a), b_(b), c_(c), k_(k), tiles_(tiles), form_(form) {}

  [[nodiscard]] int league_size() const { return league_of(tiles_.count() * k_.count); }

 protected:
  T const* a_;
  T const* b_;
  T* c_;
  Chunks k_;
  collective::MatrixTiles tiles_;
  Form form_;
};

}  // namespace tessera::kernels::detail
