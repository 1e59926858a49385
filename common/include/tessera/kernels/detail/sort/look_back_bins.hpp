#pragma once
/// \file
/// Launches of kernels that move items into bins with look-back: one that counts, then passes.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/bin_look_back_workspace.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/large_scratch.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/sort/bin_tuning.hpp>
#include <tessera/kernels/detail/sort/count_bins.hpp>
#include <tessera/kernels/detail/sort/scatter_bins.hpp>

namespace tessera::kernels::detail {

/// Counts the bins of all digits once, then moves n items by one digit per pass. Long arrays have longer tiles
/// (LongTiles).
template <ExecutionSpace Exec, class T, class Value, class BinOf, class Codes, class Tuning>
class LookBackBins {
  using Count = CountAllKernel<Exec, T, Codes, Tuning>;
  using Long = std::conditional_t<Tuning::has_long, LongTiles<Tuning>, Tuning>;
  template <class OfTile>
  using Pass = LookBackBinsKernel<Exec, T, Value, BinOf, OfTile>;
  template <class OfTile>
  using Launch = LargeScratchLaunch<Exec, Pass<OfTile>>;
  static constexpr std::size_t short_tile = items_of_tile<T, Tuning>();
  static constexpr std::size_t long_tile = items_of_tile<T, Long>();
  static constexpr int vector_length = Pass<Tuning>::vector_length;
  static constexpr int counting = is_gpu<Exec> ? Tuning::count_threads : 1;

 public:
  /// Throws Skip if a team's scratch does not hold a tile.
  LookBackBins(Exec const& exec, std::size_t n, int digits, std::string const& label)
      : label_(label),
        n_(n),
        digits_(digits),
        tile_(Tuning::has_long && n >= Tuning::long_tiles * long_tile ? long_tile : short_tile),
        tiles_(tiles_of(n, tile_)),
        launch_(tiles_of_a_launch()),
        chunks_(split(n, static_cast<std::size_t>(counting) * Tuning::lanes * Tuning::count_rows,
                      std::max<std::size_t>(
                          1, static_cast<std::size_t>(Tuning::count_chunks * static_cast<double>(teams_at_once(
                                                                                 exec, counting * vector_length)))))),
        look_back_(label, std::min(launch_, tiles_), bin_count, std::min(n, launch_ * tile_)),
        totals_(label + "::totals", digits * bin_count),
        finished_(label + "::finished"),
        begins_(unset(label + "::begins"), digits * 2 * bin_count) {
    if (tile_ == short_tile) {
      short_pass_.emplace(exec, Tuning::threads, Pass<Tuning>::scratch_bytes());
    } else {
      long_pass_.emplace(exec, Long::threads, Pass<Long>::scratch_bytes());
    }
  }

  /// Enqueues the launch that counts. `offsets`: null, or the place for the begins of `bins` bins and n.
  void count(Exec const& exec, T const* in, Codes const& codes, std::int64_t* offsets = nullptr, int bins = 0) {
    typename Count::Policy policy(exec, chunks_.count, counting, vector_length);
    Kokkos::parallel_for(
        label_ + "::count", with_scratch(policy, Count::scratch_bytes(digits_)),
        Count{codes, in, digits_, totals_.data(), finished_.data(), begins_.data(), offsets, bins, chunks_});
  }

  /// Enqueues the pass by digit number `digit`: one launch, or a few for long arrays.
  void pass(Exec const& exec, int digit, BinOf const& bin_of, MovedArrays<T, Value> const& arrays) {
    if (short_pass_) {
      enqueue<Tuning>(*short_pass_, exec, digit, bin_of, arrays);
    } else {
      enqueue<Long>(*long_pass_, exec, digit, bin_of, arrays);
    }
  }

  [[nodiscard]] std::string note() const { return "tile " + std::to_string(tile_); }

 private:
  template <class OfTile>
  void enqueue(Launch<OfTile> const& pass, Exec const& exec, int digit, BinOf const& bin_of,
               MovedArrays<T, Value> const& arrays) {
    std::int64_t* const begins = begins_.data() + static_cast<std::size_t>(digit) * 2 * bin_count;
    for (std::size_t launch = 0; launch * launch_ < tiles_; ++launch) {
      std::size_t const first = launch * launch_;
      std::size_t const tiles = std::min(launch_, tiles_ - first);
      // A launch reads its begins in one place and writes those of the next launch to the other.
      std::int64_t const* const of_launch = begins + launch % 2 * bin_count;
      std::int64_t* const of_next = begins + (launch + 1) % 2 * bin_count;
      pass(label_ + "::pass", exec, league_of(tiles),
           Pass<OfTile>{arrays, bin_of, first * tile_, n_, static_cast<std::uint32_t>(tiles), static_cast<int>(tile_),
                        of_launch, of_next, look_back_.next_launch(exec, tiles)});
    }
  }

  /// Returns the tiles of a launch: as many as may be, in launches of one length. Multiprocessors idle at the end of
  /// each launch.
  [[nodiscard]] std::size_t tiles_of_a_launch() const {
    std::size_t const most_tiles = (std::size_t{1} << 28) / tile_;  // counts of a launch share a word
    std::size_t const of_memory =
        tiles_ * tile_ * (sizeof(T) + value_bytes<Value>) / (101 * bin_count * sizeof(std::uint32_t));
    std::size_t const most = std::clamp(of_memory, std::min(Tuning::launch_tiles, most_tiles), most_tiles);
    return tiles_of(tiles_, std::max<std::size_t>(1, tiles_of(tiles_, most)));
  }

  std::string label_;
  std::size_t n_;
  int digits_;
  std::size_t tile_;  ///< items of a tile
  std::size_t tiles_;
  std::size_t launch_;  ///< tiles of a launch, at most
  Chunks chunks_;
  BinLookBackWorkspace<Exec> look_back_;
  Kokkos::View<std::int64_t*, typename Exec::memory_space> totals_;
  Kokkos::View<std::uint32_t, typename Exec::memory_space> finished_;
  Kokkos::View<std::int64_t*, typename Exec::memory_space> begins_;
  std::optional<Launch<Tuning>> short_pass_;  // one of both
  std::optional<Launch<Long>> long_pass_;
};

}  // namespace tessera::kernels::detail
