#pragma once
/// \file
/// The common part of product objects on matrix units: extents, tiles of c, and the call on Views.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Base of such an object. `Kernel` derives from it, calls cut_into_tiles() in its constructor, and has a member
/// `enqueue(exec, a, b, c, form)` on pointers, which is called unless c is empty. `can_run`: whether it compiles.
template <class Kernel, ExecutionSpace Exec, class Form, bool can_run = collective::can_have_matrix_units<Exec>>
class MatrixUnitGemm {
 public:
  /// Enqueues the product. All matrices must be row-major; c must not overlap a or b. Throws std::invalid_argument for
  /// other extents or strides.
  template <Readable<Exec, float, 2> A, Readable<Exec, float, 2> B, Writable<Exec, float, 2> C>
  void operator()([[maybe_unused]] Exec const& exec, A const& a, B const& b, C const& c,
                  [[maybe_unused]] Form const& form = {}) const {
    require_apart(c, a, b);
    float* const to = row_major(c, m_, n_);
    float const* const left = Form::a_transposed ? row_major(a, k_, m_) : row_major(a, m_, k_);
    float const* const right = Form::b_transposed ? row_major(b, n_, k_) : row_major(b, k_, n_);
    if (league_ == 0) return;
    if constexpr (can_run) {
      static_cast<Kernel const&>(*this).enqueue(exec, left, right, to, form);
    }
  }

  // Public because a device kernel may not be launched from a private function.
  template <class Tile, class Product>
  void launch(Exec const& exec, Product const& product) const {
    typename Product::Policy const policy(exec, league_, Tile::threads,
                                          lane::vector_length<Exec>(Tile::lanes / Tile::threads));
    Kokkos::parallel_for(label_, with_scratch(policy, Product::scratch_bytes()), product);
  }

 protected:
  MatrixUnitGemm(std::size_t m, std::size_t n, std::size_t k, std::string label)
      : label_(std::move(label)), m_(m), n_(n), k_(k) {}

  /// Throws Skip if there are more tiles than a launch can have teams.
  template <class Tile>
  void cut_into_tiles() {
    tiles_ = {.rows = m_, .cols = n_, .tile_rows = Tile::rows, .tile_cols = Tile::cols, .band = 8};
    league_ = league_of(tiles_.count());
  }

  std::string label_;
  std::size_t m_;
  std::size_t n_;
  std::size_t k_;
  collective::MatrixTiles tiles_;
  int league_ = 0;
};

/// Constructs a Product for these matrices, enqueues it, and waits: its workspace is freed at the end of this call.
template <class Product, ExecutionSpace Exec, class A, class B, class C, class Form>
void multiply_once(Exec const& exec, A const& a, B const& b, C const& c, Form const& form, char const* fence) {
  Product const product(exec, c.extent(0), c.extent(1), a.extent(Form::a_transposed ? 0 : 1));
  product(exec, a, b, c, form);
  exec.fence(fence);
}

}  // namespace tessera::kernels
