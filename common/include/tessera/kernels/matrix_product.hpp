#pragma once
/// \file
/// c = a b, tiled in registers, scratch and teams: chooses the tiles for a problem and a machine, and launches once,
/// or, where k is split over teams, twice.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/product_form.hpp>
#include <tessera/collective/team/product_block.hpp>
#include <tessera/collective/thread/product_panel.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::kernels {

namespace detail {

/// Adds up `count` matrices of n elements, one after the other.
template <class T>
struct AddParts {
  T const* parts;
  T* sum;
  std::size_t n;
  int count;

  template <int N>
  KOKKOS_FUNCTION void operator()(Width<N>, std::size_t begin) const {
    auto total = collective::pack_at<N>(parts + begin);
    for (int part = 1; part < count; ++part) {
      auto const next = collective::pack_at<N>(parts + static_cast<std::size_t>(part) * n + begin);
      for (int e = 0; e < N; ++e) total[e] += next[e];
    }
    collective::pack_at<N>(sum + begin) = total;
  }
};

}  // namespace detail

/// How teams share a product's k: each takes all of it; or as many parts as fill the machine, where c has few elements.
enum class SplitK { never, where_it_helps };

/// The product of a [m, k] and b [k, n] to row-major c [m, n] of an accumulator's type (float, double, unsigned
/// integers, which wrap). Neither may alias c. The form says which of a and b are stored transposed, and what happens
/// to elements on their way (tessera/collective/product_form.hpp). One launch; none if c is empty; zeros (changed as
/// the form says) if k is 0. With SplitK::where_it_helps there may be a second launch, which adds the parts' sums in
/// their order.
///
/// Who calls: the host; the call only enqueues. Scratch: the teams' own, and a matrix for each part of k, which all
/// calls share. The bits of the result depend on the extents, the pointers' alignment and the machine only.
///
/// Example: a = [0 1; 2 3], b = [0 2; 4 6] -> c = [4 6; 12 22].
template <ExecutionSpace Exec, class T, class Form = collective::PlainProduct>
class MatrixProduct {
 public:
  /// \param team threads of a team (0: choose); a GPU's teams cannot be chosen. Throws Skip if it cannot be so.
  /// \param parts of k where it may be split (0: choose)
  MatrixProduct(Exec const& exec, std::size_t m, std::size_t n, std::size_t k, std::int64_t team = 0,
                SplitK split = SplitK::never, std::size_t parts = 0)
      : m_(m), n_(n), k_{.k = k, .size = k} {
    bool const may_split = split != SplitK::never && m > 0 && n > 0;
    auto const concurrency = static_cast<std::size_t>(exec.concurrency());
    if constexpr (is_gpu<Exec>) {
      if (team != 0 && team != Large::lanes) {
        throw Skip("a team of " + std::to_string(team) + " threads (a block's shares are cut for " +
                   std::to_string(Large::lanes) + ")");
      }
      // Large blocks move less, but must be enough to keep two on each multiprocessor (2048 lanes).
      std::size_t const multiprocessors = std::max<std::size_t>(1, concurrency / 2048);
      std::size_t const blocks = tiles_of(m, Large::rows) * tiles_of(n, Large::cols);
      std::size_t const small_blocks = tiles_of(m, Small::rows) * tiles_of(n, Small::cols);
      if (may_split) split_k(parts > 0 ? parts : multiprocessors * Large::teams / blocks, Large::depth);
      large_ = blocks * static_cast<std::size_t>(k_.count) * 2 * 2048 >= 3 * concurrency;
      if (may_split && !large_) {
        split_k(parts > 0 ? parts : multiprocessors * Small::teams / small_blocks, Small::depth);
      }
      (void)league_of(small_blocks * static_cast<std::size_t>(k_.count));
    } else {
      threads_ = team_size(exec, team);
      std::size_t const teams = concurrency / static_cast<std::size_t>(threads_);
      host_tiles_ = host_tiles(m, n, teams);
      std::size_t const tiles = host_tiles_.across() * host_tiles_.down();
      if (may_split) split_k(parts > 0 ? parts : teams / tiles, thread::ProductPanel<Exec, T, Form>::depth);
      (void)league_of(tiles * static_cast<std::size_t>(k_.count));
    }
    if (k_.count > 1) {
      sums_ = Kokkos::View<T*, typename Exec::memory_space>(
          Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "tessera::kernels::matrix_product::parts"),
          static_cast<std::size_t>(k_.count) * m * n);
    }
  }

  void operator()(std::string const& label, Exec const& exec, T const* a, T const* b, T* c,
                  Form const& form = {}) const {
    if (m_ == 0 || n_ == 0) return;
    T* const result = k_.count > 1 ? sums_.data() : c;
    if constexpr (is_gpu<Exec>) {
      if (large_) {
        enqueue_blocks<Large>(label, exec, a, b, result, form);
      } else {
        enqueue_blocks<Small>(label, exec, a, b, result, form);
      }
    } else {
      using Kernel = thread::ProductPanel<Exec, T, Form>;
      Kernel const kernel(a, b, result, k_, host_tiles_, form);
      typename Kernel::Policy policy(exec, kernel.league_size(), threads_, 1);
      policy.set_scratch_size(1, Kokkos::PerTeam(static_cast<int>(kernel.team_bytes())),
                              Kokkos::PerThread(static_cast<int>(Kernel::thread_bytes())));
      Kokkos::parallel_for(label, policy, kernel);
    }
    if (k_.count > 1) {
      constexpr int width = natural_pack<Exec, T>;
      std::size_t const n = m_ * n_;
      bool const aligned = n % width == 0 && collective::is_aligned_for_packs<width>(result) &&
                           collective::is_aligned_for_packs<width>(c);
      for_each_pack<width>(label + "::add_parts", exec, n, aligned, detail::AddParts<T>{result, c, n, k_.count});
    }
  }

  /// Longest chain of roundings for an element, without what the form adds.
  [[nodiscard]] double rounding_steps() const {
    double const of_part =
        is_gpu<Exec> ? static_cast<double>(k_.size) : thread::ProductPanel<Exec, T, Form>::rounding_steps(k_.size);
    return of_part + (k_.count - 1);
  }
  /// Parts that k falls into.
  [[nodiscard]] int parts() const { return k_.count; }

 private:
  // Sums in 64 registers of a lane, and in a quarter or half of that.
  using Large =
      std::conditional_t<sizeof(T) <= 4, team::BlockShape<128, 128, 8, 8, 8, 2>, team::BlockShape<128, 64, 8, 8, 4, 2>>;
  using Small = team::BlockShape<64, 64, 16, 4, 4, sizeof(T) <= 4 ? 3 : 2>;

  // At most that many parts, all but the last as long as each other, in whole steps, and long enough to be worth it.
  void split_k(std::size_t parts, int step) {
    if constexpr (!Form::Store::changes) {
      constexpr std::size_t least = 256;
      std::size_t const most = std::max<std::size_t>(1, std::min(parts, k_.k / least));
      std::size_t const steps = tiles_of(k_.k, static_cast<std::size_t>(step));
      k_.size = most == 1 ? k_.k : tiles_of(steps, most) * static_cast<std::size_t>(step);
      k_.count = most == 1 ? 1 : static_cast<int>(tiles_of(k_.k, k_.size));
    } else {
      throw Skip("parts of k (a form that changes sums needs whole ones)");
    }
  }

  template <class Shape>
  void enqueue_blocks(std::string const& label, Exec const& exec, T const* a, T const* b, T* c,
                      Form const& form) const {
    constexpr int width = collective::pack_width<T>;
    std::size_t const contiguous_a = Form::a_transposed ? m_ : k_.k;
    std::size_t const contiguous_b = Form::b_transposed ? k_.k : n_;
    bool const aligned = contiguous_a % width == 0 && contiguous_b % width == 0 && n_ % width == 0 &&
                         collective::is_aligned_for_packs<width>(a) && collective::is_aligned_for_packs<width>(b) &&
                         collective::is_aligned_for_packs<width>(c) && form.load.template is_aligned<width>();
    if (aligned) {
      enqueue(label, exec, team::ProductBlock<Exec, T, Shape, width, Form>(a, b, c, m_, n_, k_, form), Shape::lanes);
    } else {
      enqueue(label, exec, team::ProductBlock<Exec, T, Shape, 1, Form>(a, b, c, m_, n_, k_, form), Shape::lanes);
    }
  }

  template <class Kernel>
  static void enqueue(std::string const& label, Exec const& exec, Kernel const& kernel, int lanes) {
    typename Kernel::Policy policy(exec, kernel.league_size(), lanes, 1);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes())));
    Kokkos::parallel_for(label, policy, kernel);
  }

  // Tiles that reuse what they copy, but at least two a team where there is so much work.
  [[nodiscard]] static collective::MatrixTiles host_tiles(std::size_t m, std::size_t n, std::size_t teams) {
    using Kernel = thread::ProductPanel<Exec, T, Form>;
    collective::MatrixTiles tiles{.rows = m, .cols = n, .tile_rows = 16 * Kernel::rows, .tile_cols = 8 * Kernel::cols};
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
  collective::KParts k_;
  bool large_ = true;
  int threads_ = 1;
  collective::MatrixTiles host_tiles_;
  Kokkos::View<T*, typename Exec::memory_space> sums_;
};

}  // namespace tessera::kernels
