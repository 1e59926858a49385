/// \file
/// Lanes, threads, team, device in one launch: 16-byte accesses with several in flight, lanes and threads folded
/// without atomics, and the last team to finish folds the teams' sums, in their order: same bits on every run.

#include <cmath>
#include <cstdint>

#include "../problem.hpp"

#include <tessera/app/make_app.hpp>
#include <tessera/collective/device/chunks.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/rows.hpp>

namespace tessera::dot {

namespace {

template <class Exec, class T>
struct LaneKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  using Sum = Accumulator<T>;
  static constexpr int rows = 4;
  static constexpr int pack = collective::pack_width<T>;
  using Items = thread::Rows<T, rows, pack>;
  static constexpr int part = rows * Lanes::width * pack;  // elements that a thread takes at a time
  struct Sums {
    Sum at[rows][pack];
  };

  // A team's scratch: the threads' sums, and whether this team is the last.
  using SumsView = Kokkos::View<Sum*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using LastView = Kokkos::View<bool, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  T const* a;
  T const* b;
  Sum* out;
  Sum* partial;             // one sum a team
  std::uint32_t* finished;  // teams that are done; back at zero after every launch
  device::Chunks chunks;

  [[nodiscard]] static std::size_t scratch_bytes(int threads) {
    return SumsView::shmem_size(threads) + LastView::shmem_size();
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    SumsView const of_threads(team.team_scratch(0), team.team_size());
    LastView const last(team.team_scratch(0));

    Sum const sum = team_sum(team, lanes, of_threads, chunk_sum(team, lanes));
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      partial[team.league_rank()] = sum;
      Kokkos::memory_fence();  // whoever sees the count sees the sum
      last() = Kokkos::atomic_fetch_add(finished, 1u) + 1 == static_cast<std::uint32_t>(chunks.count);
    });
    team.team_barrier();
    if (last()) {
      Kokkos::memory_fence();  // the sums must not be read before the count
      Sum const total = team_sum(team, lanes, of_threads, partial_sum(team, lanes));
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        *out = total;
        *finished = 0;
      });
    }
    team.team_barrier();  // hosts go on with another chunk in the same scratch
  }

 private:
  // The sum over one thread's share of the chunk; every lane has it.
  KOKKOS_FUNCTION Sum chunk_sum(Member const& team, Lanes const& lanes) const {
    std::size_t const end = chunks.end(team.league_rank());
    auto sums = lanes.template fill<Sums>(Sums{});
    for (std::size_t begin = chunks.begin(team.league_rank()) + static_cast<std::size_t>(team.team_rank()) * part;
         begin < end; begin += static_cast<std::size_t>(team.team_size()) * part) {
      typename Lanes::template Value<Items> of_a;
      typename Lanes::template Value<Items> of_b;
      int const count = thread::count_before(begin, end, part);
      thread::load_rows(lanes, a + begin, count, T(0), of_a);
      thread::load_rows(lanes, b + begin, count, T(0), of_b);
      lanes.each(
          [](int, Sums& own, Items const& x, Items const& y) {
            for (int row = 0; row < rows; ++row) {
              for (int e = 0; e < pack; ++e) own.at[row][e] += product(x.at[row][e], y.at[row][e]);
            }
          },
          sums, of_a, of_b);
    }
    auto of_lane = lanes.template fill<Sum>(Sum(0));
    lanes.each(
        [](int, Sum& sum, Sums const& own) {
          for (int row = 0; row < rows; ++row) {
            for (int e = 0; e < pack; ++e) sum += own.at[row][e];
          }
        },
        of_lane, sums);
    return thread::reduce<Sum>(lanes, of_lane, collective::Sum<Sum>{});
  }

  // The sum over one thread's share of the teams' sums; every lane has it.
  KOKKOS_FUNCTION Sum partial_sum(Member const& team, Lanes const& lanes) const {
    auto of_lane = lanes.template fill<Sum>(Sum(0));
    for (int first = team.team_rank() * Lanes::width; first < chunks.count; first += team.team_size() * Lanes::width) {
      lanes.each(
          [&](int lane, Sum& sum) {
            if (first + lane < chunks.count) sum += partial[first + lane];
          },
          of_lane);
    }
    return thread::reduce<Sum>(lanes, of_lane, collective::Sum<Sum>{});
  }

  KOKKOS_FUNCTION static Sum team_sum(Member const& team, Lanes const& lanes, SumsView const& of_threads, Sum sum) {
    return team::scan_threads(team, lanes, sum, of_threads.data(), collective::Sum<Sum>{}).total;
  }
};

}  // namespace

struct LaneReduce {
  static constexpr VariantInfo info{.name = "lane_reduce",
                                    .level = Level::lane,
                                    .summary = "16-byte accesses, lanes, threads, team; last team folds: one launch"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Kernel = LaneKernel<Exec, T>;
    static constexpr int vector_length = lane::vector_length<Exec>(Kernel::Lanes::width);

    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
        : threads_(device::team_size(exec, input.parameters.team, vector_length)),
          chunks_(device::chunks_of(exec, input.a.extent(0), static_cast<std::size_t>(threads_) * Kernel::part,
                                    threads_ * vector_length)),
          partial_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::dot::lane_reduce::partial"),
                   chunks_.count),
          finished_("tessera::dot::lane_reduce::finished") {}

    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      Kernel const kernel{input.a.data(),  input.b.data(),   accumulator_of(output.out).data(),
                          partial_.data(), finished_.data(), chunks_};
      typename Kernel::Policy policy(exec, chunks_.count, threads_, vector_length);
      Kokkos::parallel_for(
          "tessera::dot::lane_reduce::sum",
          policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(threads_)))), kernel);
    }

    /// A product, a lane's share of a chunk, its rows and packs, lanes, threads; then the same over the teams' sums.
    [[nodiscard]] double rounding_steps() const {
      double const lanes = static_cast<double>(threads_) * Kernel::Lanes::width;
      double const fold =
          2 * std::log2(Kernel::Lanes::width) + std::ceil(static_cast<double>(threads_) / Kernel::Lanes::width) + 1;
      double const rounds =
          std::ceil(static_cast<double>(chunks_.size) / (static_cast<double>(threads_) * Kernel::part));
      return 1 + rounds + Kernel::rows * Kernel::pack + fold + std::ceil(chunks_.count / lanes) + fold;
    }

   private:
    int threads_;
    device::Chunks chunks_;
    Kokkos::View<typename Kernel::Sum*, typename Exec::memory_space> partial_;
    Kokkos::View<std::uint32_t, typename Exec::memory_space> finished_;
  };
};

VariantRows lane_reduce() { return rows<Dot, LaneReduce>(); }

}  // namespace tessera::dot
