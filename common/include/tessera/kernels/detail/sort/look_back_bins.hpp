#pragma once
/// \file
/// Launches of kernels that move items into bins with look-back: one that counts, then passes.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

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

/// Counts the bins of all digits once, then moves n items by one digit per pass.
template <ExecutionSpace Exec, class T, class Value, class BinOf, class Codes, class Tuning>
class LookBackBins {
  using Count = CountAllKernel<Exec, T, Codes, Tuning>;
  using Pass = LookBackBinsKernel<Exec, T, Value, BinOf, Tuning>;
  static constexpr int tile = items_of_tile<T, Tuning>();
  static constexpr int threads = Tuning::threads;
  static constexpr int counting = is_gpu<Exec> ? Tuning::count_threads : 1;

 public:
  /// Throws Skip if a team's scratch does not hold a tile.
  LookBackBins(Exec const& exec, std::size_t n, int digits, std::string const& label)
      : label_(label),
        n_(n),
        digits_(digits),
        tiles_(tiles_of(n, tile)),
        launch_(tiles_of_a_launch(tiles_)),
        chunks_(split(n, static_cast<std::size_t>(counting) * Tuning::lanes * Tuning::count_rows,
                      std::max<std::size_t>(1, static_cast<std::size_t>(Tuning::count_chunks *
                                                                        static_cast<double>(teams_at_once(
                                                                            exec, counting * Pass::vector_length)))))),
        look_back_(label, std::min(launch_, tiles_), bin_count, std::min(n, launch_ * tile)),
        totals_(label + "::totals", digits * bin_count),
        finished_(label + "::finished"),
        begins_(unset(label + "::begins"), digits * 2 * bin_count),
        pass_(exec, threads, Pass::scratch_bytes()) {}

  /// Enqueues the launch that counts. `offsets`: null, or the place for the begins of `bins` bins and n.
  void count(Exec const& exec, T const* in, Codes const& codes, std::int64_t* offsets = nullptr, int bins = 0) {
    typename Count::Policy policy(exec, chunks_.count, counting, Pass::vector_length);
    Kokkos::parallel_for(
        label_ + "::count", with_scratch(policy, Count::scratch_bytes(digits_)),
        Count{codes, in, digits_, totals_.data(), finished_.data(), begins_.data(), offsets, bins, chunks_});
  }

  /// Enqueues the pass by digit number `digit`: one launch, or a few for long arrays.
  void pass(Exec const& exec, int digit, BinOf const& bin_of, MovedArrays<T, Value> const& arrays) {
    std::int64_t* const begins = begins_.data() + static_cast<std::size_t>(digit) * 2 * bin_count;
    for (std::size_t launch = 0; launch * launch_ < tiles_; ++launch) {
      std::size_t const first = launch * launch_;
      std::size_t const tiles = std::min(launch_, tiles_ - first);
      // A launch reads its begins in one place and writes those of the next launch to the other.
      std::int64_t const* const of_launch = begins + launch % 2 * bin_count;
      std::int64_t* const of_next = begins + (launch + 1) % 2 * bin_count;
      pass_(label_ + "::pass", exec, league_of(tiles),
            Pass{arrays, bin_of, first * tile, n_, static_cast<std::uint32_t>(tiles), tile, of_launch, of_next,
                 look_back_.next_launch(exec, tiles)});
    }
  }

  [[nodiscard]] std::string note() const { return "tile " + std::to_string(tile); }

 private:
  static constexpr std::size_t most_tiles = (std::size_t{1} << 28) / tile;  ///< counts of a launch share a word

  /// Returns the tiles of a launch: as many as may be, in launches of one length. Multiprocessors idle at the end of
  /// each launch.
  [[nodiscard]] static std::size_t tiles_of_a_launch(std::size_t tiles) {
    std::size_t const of_memory =
        tiles * tile * (sizeof(T) + value_bytes<Value>) / (101 * bin_count * sizeof(std::uint32_t));
    std::size_t const most = std::clamp(of_memory, std::min(Tuning::launch_tiles, most_tiles), most_tiles);
    return tiles_of(tiles, std::max<std::size_t>(1, tiles_of(tiles, most)));
  }

  std::string label_;
  std::size_t n_;
  int digits_;
  std::size_t tiles_;
  std::size_t launch_;  ///< tiles of a launch, at most
  Chunks chunks_;
  BinLookBackWorkspace<Exec> look_back_;
  Kokkos::View<std::int64_t*, typename Exec::memory_space> totals_;
  Kokkos::View<std::uint32_t, typename Exec::memory_space> finished_;
  Kokkos::View<std::int64_t*, typename Exec::memory_space> begins_;
  LargeScratchLaunch<Exec, Pass> pass_;
};

}  // namespace tessera::kernels::detail
