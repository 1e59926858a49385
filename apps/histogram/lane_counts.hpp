#pragma once
/// \file
/// Counting without atomics: what lane_private runs, for one width of the lanes' counters.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "problem.hpp"
#include "shares.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/scratch_add.hpp>
#include <tessera/collective/thread/for_each_element.hpp>
#include <tessera/collective/thread/lane_counters.hpp>
#include <tessera/collective/thread/rows.hpp>

namespace tessera::histogram {

/// Every lane counts in counters of its own; before they can overflow, and at the end, a thread's lanes add them up to
/// the team's counts in scratch, and the team adds those to the result.
template <ExecutionSpace Exec, class T, class Counter>
struct LaneCounts {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  using Counters = thread::LaneCounters<Lanes, Counter>;
  using Words =
      Kokkos::View<std::uint32_t*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int rows = is_gpu<Exec> ? 4 : 1;
  static constexpr int pack = (is_gpu<Exec> ? 1 : 4) * collective::pack_width<T>;  // a cache line on hosts
  static constexpr int part = rows * Lanes::width * pack;
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);
  // A part gives a lane rows * pack elements.
  static constexpr std::uint32_t parts_between_flushes = Counters::limit / (rows * pack);

  T const* in;
  Result result;
  Bins<T> bins;
  kernels::Chunks chunks;

  /// Bytes of scratch for one team.
  [[nodiscard]] static std::size_t scratch_bytes(int bins, int threads) {
    return Words::shmem_size(bins + 1 + threads * Counters::words_for(bins + 1));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Bins<T> const bin_of = bins;  // the counters might be written to the kernel's own memory, for all a compiler knows
    // One counter more than bins: what is outside costs no branch.
    int const size = result.size();
    int const of_thread = Counters::words_for(size);
    Words const words(team.team_scratch(0), size + team.team_size() * of_thread);
    std::uint32_t* const counts = words.data();
    Counters const counters{counts + size + team.team_rank() * of_thread, size};
    auto const add_to_team = [&](int bin, std::uint32_t more) {
      if (more != 0) collective::scratch_add(counts + bin, more);
    };

    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size), [&](int bin) { counts[bin] = 0; });
    counters.set_to_zero(lanes);
    team.team_barrier();
    std::uint32_t left = parts_between_flushes;
    std::size_t const end = chunks.end(team.league_rank());
    for (std::size_t begin = chunks.begin(team.league_rank()) + static_cast<std::size_t>(team.team_rank()) * part;
         begin < end; begin += static_cast<std::size_t>(team.team_size()) * part) {
      if (left-- == 0) {
        counters.flush(lanes, add_to_team);
        left = parts_between_flushes - 1;
      }
      thread::for_each_element<rows, pack>(lanes, in + begin, thread::count_before(begin, end, part),
                                           [&]<int N>(int lane, T const(&x)[N]) {
                                             std::int32_t bin[N];
                                             for (int k = 0; k < N; ++k) bin[k] = bin_of(x[k]);
                                             for (int k = 0; k < N; ++k) counters.add_one(lane, bin[k]);
                                           });
    }
    counters.flush(lanes, add_to_team);
    team.team_barrier();
    result.add(team, [&](int bin) { return counts[bin]; });
    team.team_barrier();  // hosts count another share in the same scratch
  }
};

/// Threads, shares and launches of LaneCounts.
template <ExecutionSpace Exec, class T, class Counter>
class LaneCounting {
  using Kernel = LaneCounts<Exec, T, Counter>;

 public:
  /// Throws Skip if the counters do not fit into scratch, or the space cannot give so many threads.
  LaneCounting(Exec const& exec, std::size_t n, Histogram::Parameters const& parameters)
      : bins_(parameters), threads_(threads_of(exec, parameters)) {
    std::size_t const team_part = static_cast<std::size_t>(threads_) * Kernel::part;
    chunks_ = shares(exec, n, parameters, team_part, threads_ * Kernel::vector_length);
    // A share of one part more than the counters hold would be flushed twice.
    std::size_t const period = Kernel::parts_between_flushes * team_part;
    if (parameters.tile == 0 && chunks_.size > period) {
      chunks_.size -= chunks_.size % period;
      chunks_.count = league_of(tiles_of(n, chunks_.size));
    }
  }

  void operator()(Exec const& exec, T const* in, Result const& result) const {
    set_to_zero("tessera::histogram::lane_private::zero", exec, result);
    typename Kernel::Policy policy(exec, chunks_.count, threads_, Kernel::vector_length);
    std::size_t const bytes = Kernel::scratch_bytes(bins_.count, threads_);
    Kokkos::parallel_for("tessera::histogram::lane_private::count",
                         policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes))),
                         Kernel{in, result, bins_, chunks_});
  }

  [[nodiscard]] std::string note() const {
    return std::to_string(chunks_.count) + (chunks_.count == 1 ? " share of " : " shares, teams of ") +
           std::to_string(threads_ * Kernel::vector_length);
  }

 private:
  // What was asked for, or on a GPU as many warps, up to 4, as fit: with 256 bins 4 take 34 KB, and 6 such teams share
  // a multiprocessor of an H200.
  [[nodiscard]] static int threads_of(Exec const& exec, Histogram::Parameters const& parameters) {
    int const wanted = kernels::team_size(exec, parameters.team, Kernel::vector_length);
    auto const bins = static_cast<int>(parameters.bins);
    auto const most = static_cast<std::size_t>(typename Kernel::Policy(exec, 1, 1).scratch_size_max(0));
    int threads = parameters.team > 0 ? wanted : std::min(wanted, 4);
    while (parameters.team == 0 && threads > 1 && Kernel::scratch_bytes(bins, threads) > most) --threads;
    if (Kernel::scratch_bytes(bins, threads) > most) {
      throw Skip("counters of " + std::to_string(Kernel::scratch_bytes(bins, threads)) + " bytes for " +
                 std::to_string(parameters.bins) + " bins and " + std::to_string(threads * Kernel::Lanes::width) +
                 " lanes (a team's scratch holds " + std::to_string(most) + ")");
    }
    return threads;
  }

  Bins<T> bins_;
  int threads_;
  kernels::Chunks chunks_;
};

}  // namespace tessera::histogram
