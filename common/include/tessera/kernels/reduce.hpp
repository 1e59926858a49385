#pragma once
/// \file
/// The sum of a term over one or several arrays, in one launch. Each lane has several 16-byte accesses in flight. Lanes
/// and threads are folded without atomics. The last team to finish folds the teams' sums, always in the same order, so
/// that the result is bitwise reproducible. Each array is read once; there is no other traffic.
///
/// Example, one array, term x, chunks of 4: 3 1 4 1 | 5 9 -> the teams' sums 9 and 14 -> 23.
///
/// Use:  sum(exec, in, out);  dot(exec, a, b, out);
/// or, enqueued many times:  SinglePassSum<Exec, float, 2, Times<float>> dot(exec, n);  dot(exec, a, b, out);

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/pairwise.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/thread/piece_sum.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Loads in flight per thread of SinglePassSum, and the number of teams.
template <ExecutionSpace Exec, class T>
struct SumTuning {
  static constexpr int lanes = lane::natural_width<Exec>;
  /// Packs that a lane loads before it adds. 2^28 floats are read at 2.94 TB/s on an H100 with four packs of 16 bytes,
  /// and at 3.03 TB/s with eight. Eight packs of a short type have more terms than a lane has registers for.
  static constexpr int rows = is_gpu<Exec> && sizeof(T) >= 4 ? 8 : 4;
  static constexpr int pack = collective::pack_width<T>;  ///< elements of a pack: 16 bytes, the widest load
  /// Chunks per team that would be resident if only lanes limited occupancy. On a GPU, registers limit it to a quarter
  /// of these teams, so that there are four waves for one array and two for two arrays. One wave more or less changes
  /// the time of 2^28 floats by 1%; twice as many waves cost 6% for 2^24 floats.
  template <int Arrays>
  static constexpr double chunks = is_gpu<Exec> && Arrays == 2 ? 0.5 : 1;
};

/// The term of a plain sum.
template <class T>
struct Itself {
  [[nodiscard]] KOKKOS_FUNCTION collective::Accumulator<T> operator()(T const& a) const {
    return static_cast<collective::Accumulator<T>>(a);
  }
};

/// The term of a scalar product.
template <class T>
struct Times {
  [[nodiscard]] KOKKOS_FUNCTION collective::Accumulator<T> operator()(T const& a, T const& b) const {
    return collective::product(a, b);
  }
};

namespace detail {

template <ExecutionSpace Exec, class T, int Arrays, class Term, class Tuning>
struct SinglePassSumKernel {
  using Policy = Kokkos::TeamPolicy<Exec, AnyTeamBounds<Exec>>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Sum = collective::Accumulator<T>;
  static constexpr int rows = Tuning::rows;
  static constexpr int pack = Tuning::pack;
  using Items = thread::Rows<T, rows, pack>;
  static constexpr int part = rows * Lanes::width * pack;  // elements that a thread handles at a time
  struct Sums {
    Sum at[pack];
  };

  // Scratch of a team: the threads' sums, and whether this team is the last one.
  using SumsView = ScratchView<Sum*, Exec>;
  using LastView = ScratchView<bool, Exec>;

  T const* in[Arrays];
  T* out;
  Sum* partial;             // one sum per team
  std::uint32_t* finished;  // teams that have finished; zero again after every launch
  Chunks chunks;
  Term term;

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
      Kokkos::memory_fence();  // a team that sees the count must also see the sum
      last() = Kokkos::atomic_fetch_add(finished, 1u) + 1 == static_cast<std::uint32_t>(chunks.count);
    });
    team.team_barrier();
    if (last()) {
      Kokkos::memory_fence();  // the sums must not be read before the count
      Sum const of_thread = thread::strided_sum(lanes, partial, team.team_rank() * Lanes::width, chunks.count,
                                                team.team_size() * Lanes::width);
      Sum const total = team_sum(team, lanes, of_threads, of_thread);
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        *out = static_cast<T>(total);
        *finished = 0;
      });
    }
    leave_scratch(team);
  }

 private:
  // Returns the sum over one thread's part of the chunk, in every lane.
  KOKKOS_FUNCTION Sum chunk_sum(Member const& team, Lanes const& lanes) const {
    std::size_t const end = chunks.end(team.league_rank());
    auto sums = lanes.template fill<Sums>(Sums{});
    for (std::size_t begin = chunks.begin(team.league_rank()) + static_cast<std::size_t>(team.team_rank()) * part;
         begin < end; begin += static_cast<std::size_t>(team.team_size()) * part) {
      typename Lanes::template Value<Items> items[Arrays];
      int const count = thread::count_before(begin, end, part);
      for (int array = 0; array < Arrays; ++array) {
        thread::load_rows(lanes, in[array] + begin, count, T(0), items[array]);
      }
      add_terms(lanes, sums, items, std::make_index_sequence<Arrays>{});
    }
    auto of_lane = lanes.template fill<Sum>(Sum(0));
    lanes.each(
        [](int, Sum& sum, Sums const& own) {
          for (int e = 0; e < pack; ++e) sum += own.at[e];
        },
        of_lane, sums);
    return thread::reduce<Sum>(lanes, of_lane, collective::Sum<Sum>{});
  }

  template <std::size_t... Array>
  KOKKOS_FUNCTION void add_terms(Lanes const& lanes, typename Lanes::template Value<Sums>& sums,
                                 typename Lanes::template Value<Items> const (&items)[Arrays],
                                 std::index_sequence<Array...>) const {
    lanes.each(
        [&](int, Sums& own, auto const&... of) {
          Sum terms[rows][pack];
          for (int row = 0; row < rows; ++row) {
            for (int e = 0; e < pack; ++e) terms[row][e] = term(of.at[row][e]...);
          }
          collective::add_pairwise(terms, own.at);
        },
        sums, items[Array]...);
  }

  KOKKOS_FUNCTION static Sum team_sum(Member const& team, Lanes const& lanes, SumsView const& of_threads, Sum sum) {
    return team::scan_threads(team, lanes, sum, of_threads.data(), collective::Sum<Sum>{}).total;
  }
};

}  // namespace detail

/// out = sum over i of term(a0[i], a1[i], ...), for arrays of n elements.
///
/// `Term` is a function object for device code, `Accumulator<T> operator()(T const&...) const`, with one argument per
/// array. It must return zero for zeros, because incomplete parts are padded with zeros. Construct it once: chooses
/// teams and chunks, and allocates one sum per team. A call only enqueues; calls on one object must not run
/// concurrently, because they share this memory.
template <ExecutionSpace Exec, class T, int Arrays, class Term, class Tuning = SumTuning<Exec, T>>
class SinglePassSum {
  using Kernel = detail::SinglePassSumKernel<Exec, T, Arrays, Term, Tuning>;
  static constexpr int vector_length = lane::vector_length<Exec>(Kernel::Lanes::width);

 public:
  using Sum = collective::Accumulator<T>;

  /// \param n elements of each array
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  explicit SinglePassSum(Exec const& exec, std::size_t n, std::int64_t team = 0,
                         std::string const& label = "tessera::sum", Term const& term = {})
      : label_(label + "::sum"),
        term_(term),
        n_(n),
        threads_(team_size(exec, team, vector_length)),
        chunks_(split(n, static_cast<std::size_t>(threads_) * Kernel::part,
                      static_cast<std::size_t>(Tuning::template chunks<Arrays> *
                                               static_cast<double>(teams_at_once(exec, threads_ * vector_length))))),
        partial_(unset(label + "::partial"), chunks_.count),
        finished_(label + "::finished") {}

  /// Enqueues the sum of one array. `in` [n] must be contiguous; `out` is one value (rank 0). Throws
  /// std::invalid_argument if `in` is strided or has another length.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 0> Out>
    requires(Arrays == 1)
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    enqueue(exec, out.data(), contiguous(in, n_));
  }

  /// The same for two arrays [n].
  template <Readable<Exec, T, 1> A, Readable<Exec, T, 1> B, Writable<Exec, T, 0> Out>
    requires(Arrays == 2)
  void operator()(Exec const& exec, A const& a, B const& b, Out const& out) const {
    enqueue(exec, out.data(), contiguous(a, n_), contiguous(b, n_));
  }

  /// Returns the roundings on the longest path to the result: the term, a lane's rows, its part of a chunk, its packs,
  /// the lanes, the threads; then the same over the teams' sums.
  ///
  /// \param of_term roundings of one term
  [[nodiscard]] double rounding_steps(double of_term) const {
    double const lanes = static_cast<double>(threads_) * Kernel::Lanes::width;
    double const fold =
        2 * std::log2(Kernel::Lanes::width) + std::ceil(static_cast<double>(threads_) / Kernel::Lanes::width) + 1;
    double const rounds = std::ceil(static_cast<double>(chunks_.size) / (static_cast<double>(threads_) * Kernel::part));
    return of_term + std::log2(Kernel::rows) + rounds + Kernel::pack + fold + std::ceil(chunks_.count / lanes) + fold;
  }

 private:
  template <class... In>
  void enqueue(Exec const& exec, T* out, In const*... in) const {
    Kernel const kernel{{in...}, out, partial_.data(), finished_.data(), chunks_, term_};
    typename Kernel::Policy policy(exec, chunks_.count, threads_, vector_length);
    Kokkos::parallel_for(label_, with_scratch(policy, Kernel::scratch_bytes(threads_)), kernel);
  }

  std::string label_;
  Term term_;
  std::size_t n_;
  int threads_;
  Chunks chunks_;
  Kokkos::View<Sum*, typename Exec::memory_space> partial_;
  Kokkos::View<std::uint32_t, typename Exec::memory_space> finished_;
};

/// out = in[0] + in[1] + ... + in[n-1]. `in` [n], `out` one element. Integers wrap. Convenience for a single call:
/// allocates, enqueues and waits.
template <ExecutionSpace Exec, class In, class Out>
void sum(Exec const& exec, In const& in, Out const& out) {
  using T = typename In::non_const_value_type;
  SinglePassSum<Exec, T, 1, Itself<T>> const kernel(exec, in.extent(0));
  kernel(exec, in, out);
  exec.fence("tessera: sum");  // the kernel's memory is freed at the end of this call
}

/// out = a[0] * b[0] + ... + a[n-1] * b[n-1]. `a`, `b` [n], `out` one element. Convenience for a single call:
/// allocates, enqueues and waits.
template <ExecutionSpace Exec, class A, class B, class Out>
void dot(Exec const& exec, A const& a, B const& b, Out const& out) {
  using T = typename A::non_const_value_type;
  SinglePassSum<Exec, T, 2, Times<T>> const kernel(exec, a.extent(0));
  kernel(exec, a, b, out);
  exec.fence("tessera: dot");
}

}  // namespace tessera::kernels
