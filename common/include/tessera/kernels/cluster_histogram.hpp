#pragma once
/// \file
/// A histogram on clusters of teams: as ScratchHistogram (histogram.hpp), but the teams of a cluster hold one copy of
/// the counts together. Each team owns every size-th bin and counts in the scratch of the bin's owner. So scratch holds
/// up to size times as many bins, and no element is read twice. CUDA only, compute capability 9.0 or higher.
///
/// Example, clusters of 2 teams, 3 bins: team 0 holds bins 0 and 2, team 1 holds bin 1 and the elements outside.
///
/// Use:  ClusterHistogram<Exec, float> count(exec, n, {lo, hi, bins});  count(exec, in, counts, outside);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/cluster.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/cluster.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/histogram.hpp>
#include <tessera/kernels/histogram_bins.hpp>

namespace tessera::kernels {

/// Tuning parameters of ClusterHistogram: the values of ScratchHistogram.
template <ExecutionSpace Exec, class T>
struct ClusterHistogramTuning {
  static constexpr int lanes = lane::natural_width<Exec>;
  static constexpr int rows = sizeof(T) < 4 ? 4 : 8;
  static constexpr int pack = collective::pack_width<T>;
  static constexpr int threads = 16;
  /// Teams per cluster are doubled until a team's counts have at most this many bytes: two teams then share a
  /// multiprocessor.
  static constexpr std::size_t scratch_bytes = 100 << 10;
  /// Most teams per cluster, and the most that every device with clusters runs.
  static constexpr int most_teams = 16;
  static constexpr int portable_teams = 8;
  /// Most bytes of counts per team: 227 KB, less what Kokkos takes in front.
  static constexpr std::size_t most_scratch_bytes = (227 << 10) - 1024;
};

namespace detail {

template <class Exec, class T, class Bins, class Tuning>
struct ClusterHistogramKernel {
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Words = ScratchView<std::uint32_t*, Exec>;
  static constexpr int rows = Tuning::rows;
  static constexpr int pack = Tuning::pack;
  static constexpr int part = rows * Lanes::width * pack;

  T const* in;
  BinTotals result;
  Bins bins;
  Chunks chunks;  // one per cluster

  /// Counters per team: of every bin and of the elements outside, in turn. `teams`: a power of two.
  [[nodiscard]] KOKKOS_FUNCTION static std::int32_t counters(std::int32_t bins, int teams) { return bins / teams + 1; }
  [[nodiscard]] static std::size_t scratch_bytes(std::int32_t bins, int teams) {
    return Words::shmem_size(counters(bins, teams));
  }

  template <team::Cluster Member>
  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Bins const bin_of = bins;  // a copy: a compiler must assume that the counts could overwrite the kernel's members
    int const teams = team.cluster_size();
    auto const rank_bits = static_cast<std::uint32_t>(teams - 1);
    int const shift = Kokkos::countr_zero(static_cast<std::uint32_t>(teams));
    int const rank = team.cluster_rank();
    int const size = counters(bins.count, teams);
    Words const counts(team.team_scratch(0), size);
    std::uint32_t* const own = counts.data();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size), [&](int i) { counts(i) = 0; });
    team.cluster_barrier();  // nobody may add to a counter before its owner has set it to zero

    int const cluster = team.league_rank() / teams;
    std::size_t const end = chunks.end(cluster);
    std::size_t const threads = static_cast<std::size_t>(teams) * team.team_size();
    std::size_t const first = static_cast<std::size_t>(rank) * team.team_size() + team.team_rank();
    for (std::size_t begin = chunks.begin(cluster) + first * part; begin < end; begin += threads * part) {
      for_each_element<rows, pack>(lanes, in + begin, thread::count_before(begin, end, part),
                                   [&]<int N>(int, T const(&x)[N]) {
                                     std::uint32_t bin[N];
                                     for (int k = 0; k < N; ++k) bin[k] = static_cast<std::uint32_t>(bin_of(x[k]));
                                     for (int k = 0; k < N; ++k) {
                                       team.add_to(static_cast<int>(bin[k] & rank_bits), own + (bin[k] >> shift), 1u);
                                     }
                                   });
    }
    team.cluster_barrier();  // the counts are not complete, and no team may end, before all teams have counted
    BinSlice const slice{rank, (bins.count - rank) / teams + 1, teams};
    if (rank <= bins.count) result.add(team, slice, [&](int i) { return counts(i); });
    result.finish(team, own);
    leave_scratch(team);
  }
};

}  // namespace detail

/// counts[b] = number of elements in bin b; outside = number of elements in no bin. Arguments, Bins and use: as for
/// ScratchHistogram. Construct it once; it allocates one number per bin. A call only enqueues; calls on one object must
/// not run concurrently. Throws Skip if the device has no clusters, or if a cluster's scratch does not hold the counts.
template <ExecutionSpace Exec, class T, class Bins = EqualBins<T>, class Tuning = ClusterHistogramTuning<Exec, T>>
class ClusterHistogram {
  using Kernel = detail::ClusterHistogramKernel<Exec, T, Bins, Tuning>;

 public:
  /// \param n number of elements
  /// \param tile elements that a cluster counts before it adds to the result; 0: as many as fill the machine
  /// \param team threads per team; 0: choose
  /// \param label kernel name that Kokkos Tools reports
  ClusterHistogram(Exec const& exec, std::size_t n, Bins const& bins, std::int64_t tile = 0, std::int64_t team = 0,
                   std::string const& label = "tessera::cluster_histogram")
      : label_(label),
        bins_(bins),
        shape_(shape(bins.count, team)),
        launch_(exec, shape_),
        chunks_(detail::histogram_chunks(n, bins.count, tile,
                                         static_cast<std::size_t>(shape_.size * shape_.threads) * Kernel::part,
                                         launch_.resident())),
        teams_(league_of(static_cast<std::size_t>(chunks_.count) * static_cast<std::size_t>(shape_.size))),
        totals_(label + "::totals", static_cast<std::size_t>(bins.count) + 1),
        finished_(label + "::finished") {}

  /// Enqueues. Throws std::invalid_argument if `in` or `counts` has another length or a stride.
  template <Readable<Exec, T, 1> In, Writable<Exec, std::int64_t, 1> Counts, Writable<Exec, std::int64_t, 0> Outside>
  void operator()(Exec const& exec, In const& in, Counts const& counts, Outside const& outside) const {
    T const* const from = contiguous(in, chunks_.n);
    detail::BinTotals const result{
        totals_.data(), finished_.data(), contiguous(counts, static_cast<std::size_t>(bins_.count)),
        outside.data(), bins_.count,      static_cast<std::uint32_t>(teams_)};
    launch_(label_ + "::count", exec, chunks_.count, Kernel{from, result, bins_, chunks_});
  }

  [[nodiscard]] std::string note() const {
    return std::to_string(chunks_.count) + (chunks_.count == 1 ? " cluster of " : " clusters of ") +
           std::to_string(shape_.size);
  }

 private:
  [[nodiscard]] static ClusterShape shape(std::int32_t bins, std::int64_t team) {
    int size = 2;
    while (size < Tuning::portable_teams && Kernel::scratch_bytes(bins, size) > Tuning::scratch_bytes) size *= 2;
    while (size < Tuning::most_teams && Kernel::scratch_bytes(bins, size) > Tuning::most_scratch_bytes) size *= 2;
    return {.size = size,
            .threads = team > 0 ? static_cast<int>(team) : Tuning::threads,
            .lanes = lane::vector_length<Exec>(Kernel::Lanes::width),
            .scratch_bytes = Kernel::scratch_bytes(bins, size)};
  }

  std::string label_;
  Bins bins_;
  ClusterShape shape_;
  ClusterLaunch<Exec, Kernel> launch_;
  Chunks chunks_;
  int teams_;
  Kokkos::View<std::int64_t*, typename Exec::memory_space> totals_;
  Kokkos::View<std::uint32_t, typename Exec::memory_space> finished_;
};

}  // namespace tessera::kernels
