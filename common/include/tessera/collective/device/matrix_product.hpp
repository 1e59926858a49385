#pragma once
/// \file
/// c = a b, tiled in registers, scratch and teams: chooses the tiles for a problem and a machine, and launches once.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <tessera/collective/device/matrix_tiles.hpp>
#include <tessera/collective/device/team_shape.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/product_block.hpp>
#include <tessera/collective/thread/product_panel.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::device {

/// The product of row-major matrices a [m, k], b [k, n] to c [m, n] of an accumulator's type (float, double, unsigned
/// integers, which wrap). Neither may alias c. One launch; none if c is empty; zeros if k is 0.
///
/// Who calls: the host; the call only enqueues. Scratch: the teams' own. The bits of the result depend on the extents,
/// the pointers' alignment and the machine only.
///
/// Example: a = [0 1; 2 3], b = [0 2; 4 6] -> c = [4 6; 12 22].
template <ExecutionSpace Exec, class T>
class MatrixProduct {
 public:
  /// \param team threads of a team (0: choose); a GPU's teams cannot be chosen. Throws Skip if it cannot be so.
  MatrixProduct(Exec const& exec, std::size_t m, std::size_t n, std::size_t k, std::int64_t team = 0)
      : m_(m), n_(n), k_(k) {
    if constexpr (is_gpu<Exec>) {
      if (team != 0 && team != Large::lanes) {
        throw Skip("a team of " + std::to_string(team) + " threads (a block's shares are cut for " +
                   std::to_string(Large::lanes) + ")");
      }
      // Large blocks move less, but must be enough to keep two on each multiprocessor (2048 lanes).
      std::size_t const blocks = tiles_of(m, Large::rows) * tiles_of(n, Large::cols);
      large_ = blocks * 2 * 2048 >= 3 * static_cast<std::size_t>(exec.concurrency());
      (void)league_of(tiles_of(m, Small::rows) * tiles_of(n, Small::cols));
    } else {
      threads_ = team_size(exec, team);
      host_tiles_ = host_tiles(m, n, static_cast<std::size_t>(exec.concurrency()) / threads_);
      (void)host_tiles_.league_size();
    }
  }

  void operator()(std::string const& label, Exec const& exec, T const* a, T const* b, T* c) const {
    if (m_ == 0 || n_ == 0) return;
    if constexpr (is_gpu<Exec>) {
      if (large_) {
        enqueue_blocks<Large>(label, exec, a, b, c);
      } else {
        enqueue_blocks<Small>(label, exec, a, b, c);
      }
    } else {
      using Kernel = thread::ProductPanel<Exec, T>;
      Kernel const kernel(a, b, c, k_, host_tiles_);
      typename Kernel::Policy policy(exec, kernel.league_size(), threads_, 1);
      policy.set_scratch_size(1, Kokkos::PerTeam(static_cast<int>(kernel.team_bytes())),
                              Kokkos::PerThread(static_cast<int>(Kernel::thread_bytes())));
      Kokkos::parallel_for(label, policy, kernel);
    }
  }

  /// Longest chain of roundings for an element.
  [[nodiscard]] double rounding_steps() const {
    return is_gpu<Exec> ? static_cast<double>(k_) : thread::ProductPanel<Exec, T>::rounding_steps(k_);
  }

 private:
  // Sums in 64 registers of a lane, and in a quarter or half of that.
  using Large =
      std::conditional_t<sizeof(T) <= 4, team::BlockShape<128, 128, 8, 8, 8, 2>, team::BlockShape<128, 64, 8, 8, 4, 2>>;
  using Small = team::BlockShape<64, 64, 16, 4, 4, sizeof(T) <= 4 ? 3 : 2>;

  template <class Shape>
  void enqueue_blocks(std::string const& label, Exec const& exec, T const* a, T const* b, T* c) const {
    constexpr int width = collective::pack_width<T>;
    bool const aligned = k_ % width == 0 && n_ % width == 0 && collective::is_aligned_for_packs<width>(a) &&
                         collective::is_aligned_for_packs<width>(b) && collective::is_aligned_for_packs<width>(c);
    if (aligned) {
      enqueue(label, exec, team::ProductBlock<Exec, T, Shape, width>(a, b, c, m_, n_, k_), Shape::lanes);
    } else {
      enqueue(label, exec, team::ProductBlock<Exec, T, Shape, 1>(a, b, c, m_, n_, k_), Shape::lanes);
    }
  }

  template <class Kernel>
  static void enqueue(std::string const& label, Exec const& exec, Kernel const& kernel, int lanes) {
    typename Kernel::Policy policy(exec, kernel.league_size(), lanes, 1);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes())));
    Kokkos::parallel_for(label, policy, kernel);
  }

  // Tiles that reuse what they copy, but at least two a team where there is so much work.
  [[nodiscard]] static MatrixTiles host_tiles(std::size_t m, std::size_t n, std::size_t teams) {
    using Kernel = thread::ProductPanel<Exec, T>;
    MatrixTiles tiles{.rows = m, .cols = n, .tile_rows = 16 * Kernel::rows, .tile_cols = 8 * Kernel::cols};
    while (tiles.across() * tiles.down() < 2 * teams && tiles.tile_cols > Kernel::cols) {
      if (tiles.tile_rows > 4 * Kernel::rows) {
        tiles.tile_rows /= 2;
      } else {
        tiles.tile_cols /= 2;
      }
    }
    return tiles;
  }

  std::size_t m_;
  std::size_t n_;
  std::size_t k_;
  bool large_ = true;
  int threads_ = 1;
  MatrixTiles host_tiles_;
};

}  // namespace tessera::device
