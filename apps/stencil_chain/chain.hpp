#pragma once
/// \file
/// The stages that all variants apply, the elements that a tile needs for them, and the teams of the variants.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

#include "problem.hpp"

#include <tessera/collective/in_range.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::stencil_chain {

/// One stage: `factor` times the mean of the elements at most `reach` away, as far as the array has them.
template <class T>
struct Stage {
  int reach;
  T factor;
  T inner;  ///< weight of an element, if none is missing: factor / (2 reach + 1)

  /// Returns the result for the element at `at`, which has `before` elements before it and `after` behind it in the
  /// array. Adds from left to right. If the sum leaves the range, adds scaled elements: the mean may be in the range.
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T const* at, std::size_t before, std::size_t after) const {
    auto const most = static_cast<std::size_t>(reach);
    int const left = before < most ? static_cast<int>(before) : reach;
    int const right = after < most ? static_cast<int>(after) : reach;
    T sum = at[-left];
    for (int d = 1 - left; d <= right; ++d) sum += at[d];
    int const present = left + 1 + right;
    T const weight = present == 2 * reach + 1 ? inner : factor / static_cast<T>(present);
    if (collective::is_in_range(sum)) return sum * weight;
    constexpr T scale = collective::shrink<T>;
    sum = 0;
    for (int d = -left; d <= right; ++d) sum += at[d] * scale;
    return sum * weight / scale;
  }
};

template <class T>
class StageChain {
 public:
  explicit StageChain(Parameters const& parameters)
      : filters_(parameters.chain == ChainKind::filters),
        count_(filters_ ? 3 : static_cast<int>(parameters.iterations)) {}

  [[nodiscard]] KOKKOS_FUNCTION int count() const { return count_; }
  [[nodiscard]] KOKKOS_FUNCTION Stage<T> stage(int s) const {
    if (filters_ && s == 0) return {0, T(1.1), T(1.1)};
    if (filters_ && s == 1) return {2, T(1), T(1) / T(5)};
    return {1, T(1), T(1) / T(3)};
  }
  /// Returns how far away the elements are that a result of the first `stages` stages together depends on.
  [[nodiscard]] KOKKOS_FUNCTION int reach(int stages) const { return filters_ && stages < 2 ? 0 : stages; }
  [[nodiscard]] KOKKOS_FUNCTION int reach() const { return reach(count_); }
  /// Returns the largest reach of one stage.
  [[nodiscard]] KOKKOS_FUNCTION int widest() const { return filters_ ? 2 : 1; }

 private:
  bool filters_;
  int count_;
};

/// The elements of a thread's run that a stage makes: [first, last). Those of [inner, inner_end) need only the run.
struct Part {
  std::size_t first;
  std::size_t inner;
  std::size_t inner_end;
  std::size_t last;
};

/// The elements [lo, hi) of n that the results for [begin, end) depend on, if these results reach `halo` elements.
struct Window {
  std::size_t lo;
  std::size_t hi;
  std::size_t n;

  KOKKOS_FUNCTION Window(std::size_t begin, std::size_t end, int halo, std::size_t n_)
      : lo(begin - Kokkos::min(begin, static_cast<std::size_t>(halo))),
        hi(end + Kokkos::min(n_ - end, static_cast<std::size_t>(halo))),
        n(n_) {}

  [[nodiscard]] KOKKOS_FUNCTION int size() const { return static_cast<int>(hi - lo); }
  /// Returns the first element, and the end, of what the window gives after stages that reach `reached` elements.
  /// Nothing is lost at an end of the array, where no elements are missing.
  [[nodiscard]] KOKKOS_FUNCTION std::size_t first(int reached) const {
    return lo == 0 ? 0 : lo + static_cast<std::size_t>(reached);
  }
  [[nodiscard]] KOKKOS_FUNCTION std::size_t last(int reached) const {
    return hi == n ? n : hi - static_cast<std::size_t>(reached);
  }
  /// Returns the part of the run [own, own_end) that such stages give. `margin` elements at either end of the run are
  /// not in the interior.
  [[nodiscard]] KOKKOS_FUNCTION Part part(std::size_t own, std::size_t own_end, int reached, int margin_) const {
    auto const margin = static_cast<std::size_t>(margin_);
    std::size_t const begin = Kokkos::max(own, first(reached));
    std::size_t const end = Kokkos::max(begin, Kokkos::min(own_end, last(reached)));
    std::size_t const inner = Kokkos::min(end, Kokkos::max(begin, own + margin));
    return {begin, inner, Kokkos::min(end + margin, Kokkos::max(own_end, inner + margin)) - margin, end};
  }
};

/// A thread's place in the groups into which a team is split: one group per stage, or fewer if the team is smaller.
struct Role {
  int groups;
  int group;
  int worker;  ///< number of the thread in its group
  int workers;

  KOKKOS_FUNCTION Role(int rank, int threads, int stages)
      : groups(Kokkos::min(threads, stages)),
        group(Kokkos::min(rank / (threads / groups), groups - 1)),
        worker(rank - group * (threads / groups)),
        workers(group + 1 < groups ? threads / groups : threads - group * (threads / groups)) {}
};

/// Returns the number of threads per team for such groups: by default two warps per stage on a GPU, and on a host one
/// thread per stage, if it has as many. Throws Skip if the space cannot provide the requested number.
template <ExecutionSpace Exec>
[[nodiscard]] int threads_of_roles(Exec const& exec, std::int64_t requested, int stages) {
  if (requested > 0) return kernels::team_size(exec, requested);
  return Kokkos::min((is_gpu<Exec> ? 64 : 1) * stages, kernels::most_team_threads(exec, 1));
}

/// The Plan of a variant whose teams apply all stages to one tile in two buffers. Throws Skip if the space cannot
/// provide the threads or the scratch.
template <ExecutionSpace Exec, class T>
class TilePlan {
 public:
  TilePlan(Exec const& exec, InputOn<StencilChain, Exec, T> const& input)
      : chain_(input.parameters),
        threads_(kernels::team_size(exec, input.parameters.team)),
        tile_(kernels::scratch_tile<Exec>(input.parameters.tile, 2 * sizeof(T),
                                          4 * sizeof(T) * static_cast<std::size_t>(chain_.reach()))),
        league_(league_of(tiles_of(input.in.extent(0), static_cast<std::size_t>(tile_)))) {}

 protected:
  StageChain<T> chain_;
  int threads_;
  int tile_;
  int league_;
};

}  // namespace tessera::stencil_chain
