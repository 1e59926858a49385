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

/// Counts the bins of all digits of n items in one launch.
template <ExecutionSpace Exec, class T, class Codes, class Tuning>
class BinCounts {
  using Kernel = CountAllKernel<Exec, T, Codes, Tuning>;
  static constexpr int threads = is_gpu<Exec> ? Tuning::count_threads : 1;
  using Memory = typename Exec::memory_space;

 public:
  BinCounts(Exec const& exec, std::size_t n, int digits, std::string const& label)
      : label_(label + "::count"),
        digits_(digits),
        chunks_(split(n, static_cast<std::size_t>(threads) * Tuning::lanes * Tuning::count_rows,
                      std::max<std::size_t>(1, static_cast<std::size_t>(Tuning::count_chunks *
                                                                        static_cast<double>(teams_at_once(
                                                                            exec, threads * Kernel::vector_length)))))),
        totals_(label + "::totals", digits * bin_count),
        finished_(label + "::finished"),
        begins_(unset(label + "::begins"), digits * 2 * bin_count),
        launch_(exec, threads, Kernel::scratch_bytes(digits)) {}

  /// Enqueues. `offsets`: null, or the place for the begins of `bins` bins and n.
  void operator()(Exec const& exec, T const* in, Codes const& codes, std::int64_t* offsets, int bins) const {
    launch_(label_, exec, chunks_.count,
            Kernel{codes, in, digits_, totals_.data(), finished_.data(), begins_.data(), offsets, bins, chunks_});
  }

  /// Returns [2][256]: the begins of a digit's bins, for the first launch of a pass; and room for the next launch.
  [[nodiscard]] std::int64_t* begins(int digit) const {
    return begins_.data() + static_cast<std::size_t>(digit) * 2 * bin_count;
  }

 private:
  std::string label_;
  int digits_;
  Chunks chunks_;
  Kokkos::View<std::int64_t*, Memory> totals_;
  Kokkos::View<std::uint32_t, Memory> finished_;
  Kokkos::View<std::int64_t*, Memory> begins_;
  LargeScratchLaunch<Exec, Kernel> launch_;
};

/// The tiles of a pass over n items of `bytes` bytes, and how many of them a launch takes: as many as may be, in
/// launches of one length, because multiprocessors idle at the end of each.
struct PassTiles {
  std::size_t n;
  std::size_t tile;    ///< items
  std::size_t tiles;   ///< of the array
  std::size_t launch;  ///< tiles of a launch, at most

  /// \param least tiles that a launch may have whatever the memory of their counts
  PassTiles(std::size_t items, std::size_t bytes, std::size_t tile_size, std::size_t least)
      : n(items), tile(tile_size), tiles(tiles_of(n, tile)) {
    std::size_t const most_tiles = (std::size_t{1} << 28) / tile;  // counts of a launch share a word
    std::size_t const of_memory = tiles * tile * bytes / (101 * bin_count * sizeof(std::uint32_t));
    std::size_t const most = std::clamp(of_memory, std::min(least, most_tiles), most_tiles);
    launch = tiles_of(tiles, std::max<std::size_t>(1, tiles_of(tiles, most)));
  }
  [[nodiscard]] std::size_t most_tiles() const { return std::min(launch, tiles); }
  [[nodiscard]] std::size_t most_items() const { return std::min(n, launch * tile); }
};

/// The launches of one kind of pass.
template <ExecutionSpace Exec, class Kernel>
class LookBackPass {
 public:
  /// Throws Skip if a team's scratch does not hold a tile.
  LookBackPass(Exec const& exec, PassTiles const& tiles, std::string const& label)
      : label_(label + "::pass"), tiles_(tiles), launch_(exec, Kernel::threads, Kernel::scratch_bytes()) {}

  /// Enqueues one launch, or a few for long arrays. `begins` as in BinCounts::begins().
  template <class BinOf, class Arrays>
  void operator()(Exec const& exec, BinLookBackWorkspace<Exec>& look_back, std::int64_t* begins, BinOf const& bin_of,
                  Arrays const& arrays) const {
    for (std::size_t launch = 0; launch * tiles_.launch < tiles_.tiles; ++launch) {
      std::size_t const first = launch * tiles_.launch;
      std::size_t const tiles = std::min(tiles_.launch, tiles_.tiles - first);
      // A launch reads its begins in one place and writes those of the next launch to the other.
      std::int64_t const* const of_launch = begins + launch % 2 * bin_count;
      std::int64_t* const of_next = begins + (launch + 1) % 2 * bin_count;
      launch_(label_, exec, league_of(tiles),
              Kernel{arrays, bin_of, first * tiles_.tile, tiles_.n, static_cast<std::uint32_t>(tiles),
                     static_cast<int>(tiles_.tile), of_launch, of_next, look_back.next_launch(exec, tiles)});
    }
  }

 private:
  std::string label_;
  PassTiles tiles_;
  LargeScratchLaunch<Exec, Kernel> launch_;
};

/// Counts the bins of all digits once, then moves n items by one digit per pass. Long arrays have longer tiles
/// (LongTiles).
template <ExecutionSpace Exec, class T, class Value, class BinOf, class Codes, class Tuning>
class LookBackBins {
  using Long = std::conditional_t<Tuning::has_long, LongTiles<Tuning>, Tuning>;
  template <class OfTile>
  using Pass = LookBackPass<Exec, LookBackBinsKernel<Exec, T, Value, BinOf, OfTile>>;
  static constexpr std::size_t short_tile = items_of_tile<T, Tuning>();
  static constexpr std::size_t long_tile = items_of_tile<T, Long>();

 public:
  /// Throws Skip if a team's scratch does not hold a tile.
  LookBackBins(Exec const& exec, std::size_t n, int digits, std::string const& label)
      : is_long_(Tuning::has_long && n >= Tuning::long_tiles * long_tile),
        tiles_(n, sizeof(T) + value_bytes<Value>, is_long_ ? long_tile : short_tile, Tuning::launch_tiles),
        counts_(exec, n, digits, label),
        look_back_(label, tiles_.most_tiles(), bin_count, tiles_.most_items()) {
    if (is_long_) {
      long_pass_.emplace(exec, tiles_, label);
    } else {
      short_pass_.emplace(exec, tiles_, label);
    }
  }

  /// Enqueues the launch that counts. `offsets`: null, or the place for the begins of `bins` bins and n.
  void count(Exec const& exec, T const* in, Codes const& codes, std::int64_t* offsets = nullptr, int bins = 0) const {
    counts_(exec, in, codes, offsets, bins);
  }

  /// Enqueues the pass by digit number `digit`.
  void pass(Exec const& exec, int digit, BinOf const& bin_of, MovedArrays<T, Value> const& arrays) {
    if (is_long_) {
      (*long_pass_)(exec, look_back_, counts_.begins(digit), bin_of, arrays);
    } else {
      (*short_pass_)(exec, look_back_, counts_.begins(digit), bin_of, arrays);
    }
  }

  [[nodiscard]] std::string note() const { return "tile " + std::to_string(tiles_.tile); }

 private:
  bool is_long_;
  PassTiles tiles_;
  BinCounts<Exec, T, Codes, Tuning> counts_;
  BinLookBackWorkspace<Exec> look_back_;
  std::optional<Pass<Tuning>> short_pass_;  // one of both
  std::optional<Pass<Long>> long_pass_;
};

}  // namespace tessera::kernels::detail
