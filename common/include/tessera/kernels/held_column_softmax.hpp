#pragma once
/// \file
/// Softmax of columns in one launch that reads the matrix once. The teams of a band of columns together hold all of its
/// rows, most of them in registers and some in scratch, until the maxima and sums of the band are known.
///
/// A band is as many columns as fill a line of memory; a team holds some of its rows. Teams draw tickets from a
/// counter, band by band. Each team turns its elements into exponentials relative to its own maxima, and writes {max,
/// sum} of its rows to memory. It then increments the band's count, and waits until all teams of the band have done so.
/// It folds the sums of all of them, in a fixed order, and writes its elements times a factor per column. This takes
/// one exponential per element, two for elements in scratch.
///
/// Progress: a team waits for all teams of its band, also for teams with later tickets. A band therefore has no more
/// teams than are resident at once. A team draws the next ticket when it has finished one. The resident teams thus hold
/// the lowest unfinished tickets, which include all of the lowest unfinished band, and that band waits for no other.
///
/// Launches: nothing is reset between them. Tickets and the counts of a band continue from launch to launch.
///
/// Traffic: each element is read once and written once.
///
/// Example, a column 1 2 | 3 4 of two teams: {2, 1 + e^-1} and {4, 1 + e^-1} -> {4, 1.5530} -> 0.0321 0.0871 | 0.2369
/// 0.6439.
///
/// Use:  HeldColumnSoftmax<Exec, float> softmax(exec, rows, cols);  softmax(exec, in, out);
///
/// Source: tickets as in decoupled look-back (Merrill and Garland, NVR-2016-002).

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/exponential.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/shared_word.hpp>
#include <tessera/collective/thread/softmax_piece.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Elements that a team of HeldColumnSoftmax holds.
template <ExecutionSpace Exec, class T>
struct HeldColumnTuning {
  static constexpr int pack = natural_pack<Exec, T>;  ///< columns per lane
  static constexpr int held = 20;                     ///< packs per lane in registers; twice as many single elements
  /// Packs in scratch per ten in registers. An AMD compute unit has 64 KiB of scratch: with three, only one team would
  /// be resident.
  static constexpr int kept_of_ten = is_hip<Exec> ? 2 : 3;
  static constexpr std::size_t line = 128;      ///< bytes of a row per band: a line of memory
  static constexpr int most_lanes = 256;        ///< per team
  using Bounds = Kokkos::LaunchBounds<256, 2>;  ///< 128 registers per lane, most of them for held elements
  /// Places on a space: teams that are certain to be resident at once. A multiprocessor has one place, for any size of
  /// team.
  [[nodiscard]] static std::size_t at_once(Exec const& exec, int lanes) {
    return std::max(1, is_gpu<Exec> ? multiprocessors(exec) : exec.concurrency() / lanes);
  }
  /// Teams started per place: as many as registers suffice for.
  [[nodiscard]] static int of_place(int lanes) { return is_gpu<Exec> ? std::max(1, 512 / lanes) : 1; }
};

namespace detail {

template <class Exec, class T, class Tuning, int N>
struct ColumnHolders {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::Bounds>;
  using Member = typename Policy::member_type;
  using Pack = collective::Pack<T, N>;
  using Sum = collective::OnlineSum<T>;
  using Sums = collective::OnlinePack<T, N>;
  template <class V>
  using Scratch = ScratchView<V, Exec>;
  static constexpr int held = (N == 1 ? 2 : 1) * Tuning::held;  // packs per lane in registers
  static constexpr int kept = held * Tuning::kept_of_ten / 10;  // packs per lane in scratch, beside the team's sums
  static constexpr int packs = held + kept;
  static constexpr int at_once = 4;  // sums that a lane merges at a time

  T const* x;
  T* y;
  std::size_t rows;
  std::size_t cols;
  int across;               // lanes side by side
  int down;                 // lanes below each other
  std::uint32_t teams;      // per band
  std::uint32_t tickets;    // teams of all bands
  Sum* partial;             // [teams, cols]
  std::uint32_t* counter;   // of tickets
  std::uint32_t* finished;  // teams per band that have written their sums, over all launches
  std::uint32_t first_ticket;
  std::uint32_t complete;  // value of `finished` when all teams of a band have written their sums in this launch

  [[nodiscard]] static int scratch_bytes(int lanes, int width) {
    return static_cast<int>(Scratch<Pack*>::shmem_size(static_cast<std::size_t>(lanes) * kept) +
                            Scratch<Sums*>::shmem_size(lanes) + Scratch<Sum*>::shmem_size(std::max(lanes, width)) +
                            Scratch<std::uint32_t>::shmem_size());
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Shared const shared{
        Scratch<Pack*>(team.team_scratch(0), team.team_size() * kept),
        Scratch<Sums*>(team.team_scratch(0), team.team_size()),
        Scratch<Sum*>(team.team_scratch(0), team.team_size() > across * N ? team.team_size() : across * N)};
    Scratch<std::uint32_t> const ticket(team.team_scratch(0));
    for (;;) {
      Kokkos::single(Kokkos::PerTeam(team), [&] { ticket() = Kokkos::atomic_fetch_add(counter, 1u) - first_ticket; });
      team.team_barrier();
      std::uint32_t const own = ticket();
      if (own >= tickets) break;
      hold(team, own / teams, own % teams, shared);
      team.team_barrier();  // all have read the ticket and the sums, which the next ones overwrite
    }
    leave_scratch(team);
  }

 private:
  struct Shared {
    Scratch<Pack*> later;
    Scratch<Sums*> meeting;
    Scratch<Sum*> folded;
  };

  KOKKOS_FUNCTION void hold(Member const& team, std::uint32_t band, std::uint32_t part, Shared const& shared) const {
    auto const& meeting = shared.meeting;
    auto const& folded = shared.folded;
    int const lanes = team.team_size();
    int const width = across * N;
    int const below = team.team_rank() / across;
    std::size_t const band_col = static_cast<std::size_t>(band) * width;
    std::size_t const col = band_col + team.team_rank() % across * N;
    std::size_t const row = (static_cast<std::size_t>(part) * packs) * down + below;
    std::size_t const later_row = row + static_cast<std::size_t>(held) * down;
    bool const has_columns = col < cols && below < down;

    Pack own[held];
    Sums sums{};
    T own_max[N] = {};
    if (has_columns) {
      Pack later[kept];
      load(later, later_row, col);
      for (int k = 0; k < kept; ++k) shared.later(k * lanes + team.team_rank()) = later[k];
      sums = exponentials(later);
      load(own, row, col);
      Sums const of_own = exponentials(own);
      for (int e = 0; e < N; ++e) {
        own_max[e] = of_own.at[e].max;
        sums.at[e] = collective::MergeOnlineSums<T>{}(sums.at[e], of_own.at[e]);
      }
    }
    if (below < down) meeting(team.team_rank()) = sums;
    team.team_barrier();
    fold(team, folded.data(), down, [&](int c, int i) { return meeting(i * across + c / N).at[c % N]; });

    if (teams > 1) {
      for (int c = team.team_rank(); c < width; c += lanes) {
        if (band_col + c < cols) partial[part * cols + band_col + c] = folded(c);
      }
      Kokkos::memory_fence();  // a team that sees the count must also see the sums
      team.team_barrier();
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        Kokkos::atomic_inc(finished + band);
        while (collective::load_word(finished + band) != complete) collective::back_off(0);
      });
      team.team_barrier();
      Kokkos::memory_fence();  // the sums must not be read before the count
      fold(team, folded.data(), static_cast<int>(teams),
           [&](int c, int i) { return band_col + c < cols ? partial[i * cols + band_col + c] : Sum{}; });
    }

    if (has_columns) {
      T reference[N];
      T inverse[N];
      T factor[N];
      for (int e = 0; e < N; ++e) {
        Sum const all = folded(team.team_rank() % across * N + e);
        reference[e] = collective::online_reference(all.max);
        inverse[e] = all.inverse();
        factor[e] = collective::exp_nonpositive(own_max[e] - reference[e]) * inverse[e];
      }
      store<held>(row, col, [&](int k) {
        Pack out;
        for (int e = 0; e < N; ++e) out[e] = own[k][e] * factor[e];
        return out;
      });
      store<kept>(later_row, col, [&](int k) {
        Pack out = shared.later(k * lanes + team.team_rank());
        for (int e = 0; e < N; ++e) out[e] = collective::exp_nonpositive(out[e] - reference[e]) * inverse[e];
        return out;
      });
    }
  }

  // Row k of this lane is row + k * down. All loads start before the first value is used.
  template <int Count>
  KOKKOS_FUNCTION void load(Pack (&own)[Count], std::size_t row, std::size_t col) const {
    T const* const from = x + row * cols + col;
    std::size_t const apart = down * cols;
    if (row + static_cast<std::size_t>(Count - 1) * down < rows) {
      for (int k = 0; k < Count; ++k) own[k] = collective::pack_at<N>(from + k * apart);
      return;
    }
    for (int k = 0; k < Count; ++k) {
      for (int e = 0; e < N; ++e) own[k][e] = collective::minus_infinity<T>();
      if (row + static_cast<std::size_t>(k) * down < rows) own[k] = collective::pack_at<N>(from + k * apart);
    }
  }

  // Replaces each element by its exponential relative to the lane's maximum of its column.
  template <int Count>
  [[nodiscard]] KOKKOS_FUNCTION static Sums exponentials(Pack (&own)[Count]) {
    Sums sums{};
    for (int e = 0; e < N; ++e) {
      T max = own[0][e];
      for (int k = 1; k < Count; ++k) max = thread::Larger<T>{}(max, own[k][e]);
      T const reference = collective::online_reference(max);
      T sum = T(0);
      for (int k = 0; k < Count; ++k) {
        own[k][e] = collective::exp_nonpositive(own[k][e] - reference);
        sum += own[k][e];
      }
      sums.at[e] = {max, sum};
    }
    return sums;
  }

  template <int Count, class Of>
  KOKKOS_FUNCTION void store(std::size_t row, std::size_t col, Of const& of) const {
    T* const to = y + row * cols + col;
    std::size_t const apart = down * cols;
    for (int k = 0; k < Count; ++k) {
      if (row + static_cast<std::size_t>(k) * down >= rows) break;
      collective::pack_at<N>(to + k * apart) = of(k);
    }
  }

  // Sets folded[c] to the merge of of(c, 0), ..., of(c, count - 1) for each column c of the band. Several lanes share a
  // column: each merges a run, then one lane merges their results. Ends with a barrier; a barrier is needed before
  // `folded` is written again.
  template <class Of>
  KOKKOS_FUNCTION void fold(Member const& team, Sum* folded, int count, Of const& of) const {
    int const lanes = team.team_size();
    int const width = across * N;
    int const slices = lanes > width ? lanes / width : 1;
    int const run = (count + slices - 1) / slices;
    for (int i = team.team_rank(); i < slices * width; i += lanes) {
      int const c = i % width;
      int const begin = i / width * run;
      int const end = begin + run < count ? begin + run : count;
      folded[i] = merged(begin, end, [&](int k) { return of(c, k); });
    }
    team.team_barrier();
    if (slices == 1) return;
    for (int c = team.team_rank(); c < width; c += lanes) {
      folded[c] = merged(0, slices, [&](int slice) { return folded[slice * width + c]; });
    }
    team.team_barrier();
  }

  // Returns the merge of of(begin), ..., of(end - 1). Loads `at_once` sums at a time and rescales them to one maximum
  // together.
  template <class Of>
  [[nodiscard]] KOKKOS_FUNCTION static Sum merged(int begin, int end, Of const& of) {
    Sum all;
    for (int first = begin; first < end; first += at_once) {
      Sum some[at_once];
      for (int k = 0; k < at_once; ++k) {
        if (first + k < end) some[k] = of(first + k);
      }
      T max = all.max;
      for (int k = 0; k < at_once; ++k) max = thread::Larger<T>{}(max, some[k].max);
      T const reference = collective::online_reference(max);
      T sum = all.sum * collective::exp_nonpositive(all.max - reference);
      for (int k = 0; k < at_once; ++k) sum += some[k].sum * collective::exp_nonpositive(some[k].max - reference);
      all = {max, sum};
    }
    return all;
  }
};

}  // namespace detail

/// out = softmax(in), column by column, for matrices of rows x cols. The rows must fit into the teams that are resident
/// at once: tens of thousands of rows on a GPU.
///
/// Construct it once: chooses bands and teams, allocates counters, and two numbers per team and column. A call only
/// enqueues; calls on one object must not run concurrently, because they share this memory. Calls on two objects must
/// not run concurrently on one device either: each could take the places of teams that the other waits for.
template <ExecutionSpace Exec, class T, class Tuning = HeldColumnTuning<Exec, T>>
class HeldColumnSoftmax {
  static constexpr int pack = Tuning::pack;
  template <int N>
  using Kernel = detail::ColumnHolders<Exec, T, Tuning, N>;

 public:
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them, or if the rows do not fit
  ///        into the teams that are resident at once.
  /// \param label kernel name that Kokkos Tools reports
  HeldColumnSoftmax(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team = 0,
                    std::string const& label = "tessera::held_column_softmax")
      : label_(label), lanes_(std::min(team_size(exec, team), Tuning::most_lanes)), rows_(rows), cols_(cols) {
    int const width = in_packs() ? pack : 1;
    auto const widest = std::bit_floor(static_cast<unsigned>(lanes_));
    std::size_t const packs = std::max<std::size_t>(1, cols / width);
    across_ =
        static_cast<int>(std::min({Tuning::line / (sizeof(T) * width), std::size_t{widest}, std::bit_ceil(packs)}));
    down_ = lanes_ / across_;
    std::size_t const at_once = Tuning::at_once(exec, lanes_);
    std::size_t const held = static_cast<std::size_t>(down_) * (in_packs() ? Kernel<pack>::packs : Kernel<1>::packs);
    league_ = Tuning::of_place(lanes_) * at_once;
    teams_ = std::max<std::size_t>(1, tiles_of(rows, held));
    if (teams_ > at_once) {
      throw Skip(std::to_string(rows) + " rows (the teams that run at once hold " + std::to_string(at_once * held) +
                 " in registers and scratch)");
    }
    bands_ = tiles_of(packs, across_);
    (void)league_of(bands_ * teams_);
    partial_ = Partial(unset(label + "::partial"), teams_ > 1 ? teams_ * cols : 0);
    counter_ = Counter(label + "::counter");
    finished_ = Counts(label + "::finished", bands_);
  }

  /// Enqueues. `in`, `out` [rows, cols] must be contiguous and row-major; they may be the same. Throws
  /// std::invalid_argument for other extents or strides, and if rows are whole packs but not aligned for packs.
  template <Readable<Exec, T, 2> In, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) {
    T const* const x = row_major(in, rows_, cols_);
    T* const y = row_major(out, rows_, cols_);
    if (rows_ == 0 || cols_ == 0) return;
    if (!in_packs()) return enqueue<1>(exec, x, y);
    if (!collective::is_aligned_for_packs<pack>(x)) refuse(in.label());
    if (!collective::is_aligned_for_packs<pack>(y)) refuse(out.label());
    enqueue<pack>(exec, x, y);
  }

  /// Returns the roundings of a column's sum on the longest path: a lane's rows; the lanes below each other and the
  /// teams, both in runs (`at_once` of them with one rescaling); the factor.
  [[nodiscard]] double rounding_steps() const {
    constexpr int at_once = Kernel<1>::at_once;
    constexpr double merge = collective::MergeOnlineSums<T>::rounding_steps;
    double const slices = std::max(1, lanes_ / band_width());
    auto const steps = [](double count) { return std::ceil(count / at_once) * (merge + at_once); };
    auto const folded = [&](double count) { return steps(std::ceil(count / slices)) + steps(slices); };
    return (in_packs() ? Kernel<pack>::held : Kernel<1>::held) + merge + folded(down_) +
           folded(static_cast<double>(teams_)) + 6;
  }

  [[nodiscard]] std::size_t bands() const { return bands_; }
  [[nodiscard]] int band_width() const { return across_ * (in_packs() ? pack : 1); }  ///< columns
  [[nodiscard]] std::size_t teams() const { return teams_; }                          ///< per band

 private:
  using Memory = typename Exec::memory_space;
  using Partial = Kokkos::View<collective::OnlineSum<T>*, Memory>;
  using Counter = Kokkos::View<std::uint32_t, Memory>;
  using Counts = Kokkos::View<std::uint32_t*, Memory>;

  [[nodiscard]] bool in_packs() const { return cols_ % pack == 0; }

  [[noreturn]] static void refuse(std::string const& label) {
    detail::refuse(label, "begins off a boundary of " + std::to_string(sizeof(T) * pack) + " bytes",
                   "this kernel reads whole packs", "copy it first, or use a Tuning with pack = 1");
  }

  template <int N>
  void enqueue(Exec const& exec, T const* x, T* y) {
    auto const teams = static_cast<std::uint32_t>(teams_);
    complete_ += teams;  // unsigned, as the counts are: correct even after both have wrapped around
    auto const tickets = static_cast<std::uint32_t>(bands_ * teams_);
    Kernel<N> const kernel{x,        y,       rows_,           cols_,           across_,          down_,
                           teams,    tickets, partial_.data(), counter_.data(), finished_.data(), next_ticket_,
                           complete_};
    auto const league = static_cast<std::uint32_t>(std::min<std::size_t>(tickets, league_));
    next_ticket_ += tickets + league;  // each team draws one ticket too many, and then ends
    typename Kernel<N>::Policy policy(exec, static_cast<int>(league), lanes_);
    Kokkos::parallel_for(label_ + "::bands", with_scratch(policy, Kernel<N>::scratch_bytes(lanes_, band_width())),
                         kernel);
  }

  std::string label_;
  int lanes_;
  std::size_t rows_;
  std::size_t cols_;
  int across_ = 1;
  int down_ = 1;
  std::size_t teams_ = 1;  // per band
  std::size_t bands_ = 0;
  std::size_t league_ = 1;
  Partial partial_;
  Counter counter_;
  Counts finished_;
  std::uint32_t next_ticket_ = 0;
  std::uint32_t complete_ = 0;
};

}  // namespace tessera::kernels
