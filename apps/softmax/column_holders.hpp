#pragma once
/// \file
/// Softmax of columns in one launch that reads the matrix once: the teams of a band of columns hold it in their
/// registers, and a smaller part in their scratch, all of its rows between them, while they agree on maxima and sums.
///
/// A band is as many columns as fill a line of memory; a team holds some of its rows. Teams draw their places from a
/// counter, band by band. Each turns what it holds into exponentials relative to its own maxima, leaves {max, sum} of
/// its rows in memory, counts itself in, waits until all teams of the band have, folds what they left in its order, and
/// writes what it holds times a factor for each column: one exponential an element, two for those in scratch.
///
/// Progress: a team waits for teams with later tickets, too: for those of its own band. So a band has no more teams
/// than the space runs at once. Each draws the next ticket when it has finished one: those that run hold the lowest
/// unfinished tickets, hence the whole of the lowest unfinished band, and nobody of it waits for others.
///
/// Launches: no reset between them. The counts of a band go on from launch to launch, and so do tickets.
///
/// Source: tickets as in decoupled look-back (Merrill and Garland, NVR-2016-002).

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "column_part.hpp"

#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/shared_word.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::softmax {

template <class Exec, class T, int N>
struct ColumnHolders {
  // 128 registers a lane, most of them for what it holds.
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<256, 2>>;
  using Member = typename Policy::member_type;
  using Pack = collective::Pack<T, N>;
  using Sum = collective::OnlineSum<T>;
  using Sums = ColumnSums<T, N>;
  template <class V>
  using Scratch = Kokkos::View<V, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int held = N == 1 ? 40 : 20;  // packs of a lane in registers
  static constexpr int kept = held * 3 / 10;     // in scratch: what a team may have, and its sums
  static constexpr int packs = held + kept;
  static constexpr int at_once = 4;  // sums that a lane merges at a time

  T const* x;
  T* y;
  std::size_t rows;
  std::size_t cols;
  int across;               // lanes side by side
  int down;                 // lanes below each other
  std::uint32_t teams;      // of a band
  std::uint32_t tickets;    // teams of all bands
  Sum* partial;             // [teams, cols]
  std::uint32_t* counter;   // of tickets
  std::uint32_t* finished;  // teams of each band that have left their sums, over all launches
  std::uint32_t first_ticket;
  std::uint32_t complete;  // `finished` of a band whose teams have all left theirs in this launch

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
      team.team_barrier();  // the ticket and the sums are read: the next ones may come
    }
    team.team_barrier();  // hosts go on with another team in the same scratch
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
      Kokkos::memory_fence();  // whoever sees the count sees the sums
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

  // Row k of this lane is row + k * down. All are on their way before the first is needed.
  template <int Count>
  KOKKOS_FUNCTION void load(Pack (&own)[Count], std::size_t row, std::size_t col) const {
    T const* const from = x + row * cols + col;
    std::size_t const apart = static_cast<std::size_t>(down) * cols;
    if (row + static_cast<std::size_t>(Count - 1) * down < rows) {
      for (int k = 0; k < Count; ++k) own[k] = collective::pack_at<N>(from + k * apart);
      return;
    }
    for (int k = 0; k < Count; ++k) {
      for (int e = 0; e < N; ++e) own[k][e] = collective::minus_infinity<T>();
      if (row + static_cast<std::size_t>(k) * down < rows) own[k] = collective::pack_at<N>(from + k * apart);
    }
  }

  // Each element becomes its exponential relative to the lane's maximum of its column.
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
    std::size_t const apart = static_cast<std::size_t>(down) * cols;
    for (int k = 0; k < Count; ++k) {
      if (row + static_cast<std::size_t>(k) * down >= rows) break;
      collective::pack_at<N>(to + k * apart) = of(k);
    }
  }

  // folded[c] becomes the merge of of(c, 0), ..., of(c, count - 1) for each of the band's columns c: several lanes a
  // column, each a run of them, then one. Ends with a barrier; needs one before `folded` is written again.
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

  // The merge of of(begin), ..., of(end - 1): some of them loaded at a time, and brought to one maximum at once.
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

/// The softmax of columns by those who hold them: its memory, and the launch.
template <class Exec, class T, int N>
class HeldColumns {
 public:
  using Kernel = ColumnHolders<Exec, T, N>;

  /// Throws Skip if the teams that run at once cannot hold a band's rows.
  HeldColumns(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team)
      : lanes_(std::min(kernels::team_size(exec, team), 256)), rows_(rows), cols_(cols) {
    constexpr std::size_t line = 128;
    auto const widest = std::bit_floor(static_cast<unsigned>(lanes_));
    std::size_t const packs = std::max<std::size_t>(1, cols / N);
    across_ = static_cast<int>(std::min({line / (sizeof(T) * N), std::size_t{widest}, std::bit_ceil(packs)}));
    down_ = lanes_ / across_;
    // A multiprocessor has places for at most 2048 threads: however many lanes a team has, there is one for it.
    std::size_t const at_once = std::max(1, exec.concurrency() / (is_gpu<Exec> ? 2048 : lanes_));
    std::size_t const held = static_cast<std::size_t>(down_) * Kernel::packs;
    league_ = (is_gpu<Exec> ? std::max(1, 512 / lanes_) : 1) * at_once;  // as many as have registers
    teams_ = std::max<std::size_t>(1, tiles_of(rows, held));
    if (teams_ > at_once) {
      throw Skip(std::to_string(rows) + " rows (the teams that run at once hold " + std::to_string(at_once * held) +
                 " in registers and scratch)");
    }
    bands_ = tiles_of(packs, static_cast<std::size_t>(across_));
    (void)league_of(bands_ * teams_);
    partial_ = Partial(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::softmax::register_columns::partial"),
                       teams_ > 1 ? teams_ * cols : 0);
    counter_ = Counter("tessera::softmax::register_columns::counter");
    finished_ = Counts("tessera::softmax::register_columns::finished", bands_);
  }

  void operator()(Exec const& exec, T const* x, T* y) {
    if (rows_ == 0 || cols_ == 0) return;
    auto const teams = static_cast<std::uint32_t>(teams_);
    complete_ += teams;  // unsigned, as the counts: right after they wrapped around, too
    auto const tickets = static_cast<std::uint32_t>(bands_ * teams_);
    Kernel const kernel{x,        y,       rows_,           cols_,           across_,          down_,
                        teams,    tickets, partial_.data(), counter_.data(), finished_.data(), next_ticket_,
                        complete_};
    auto const league = static_cast<std::uint32_t>(std::min<std::size_t>(tickets, league_));
    next_ticket_ += tickets + league;  // each draws one too many
    typename Kernel::Policy policy(exec, static_cast<int>(league), lanes_);
    Kokkos::parallel_for("tessera::softmax::register_columns::bands",
                         policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes(lanes_, across_ * N))),
                         kernel);
  }

  /// A lane's rows; the lanes below each other, the teams: each in slices, `at_once` with one rescaling; the factor.
  [[nodiscard]] double rounding_steps() const {
    double const slices = std::max(1, lanes_ / (across_ * N));
    auto const steps = [](double count) {
      return std::ceil(count / Kernel::at_once) * (collective::MergeOnlineSums<T>::rounding_steps + Kernel::at_once);
    };
    auto const folded = [&](double count) { return steps(std::ceil(count / slices)) + steps(slices); };
    return Kernel::held + collective::MergeOnlineSums<T>::rounding_steps + folded(down_) +
           folded(static_cast<double>(teams_)) + 6;
  }

  [[nodiscard]] std::string note() const {
    return std::to_string(bands_) + " bands of " + std::to_string(across_ * N) + " columns, " + std::to_string(teams_) +
           (teams_ == 1 ? " team" : " teams");
  }

 private:
  using Memory = typename Exec::memory_space;
  using Partial = Kokkos::View<collective::OnlineSum<T>*, Memory>;
  using Counter = Kokkos::View<std::uint32_t, Memory>;
  using Counts = Kokkos::View<std::uint32_t*, Memory>;

  int lanes_;
  std::size_t rows_;
  std::size_t cols_;
  int across_ = 1;
  int down_ = 1;
  std::size_t teams_ = 1;  // of a band
  std::size_t bands_ = 0;
  std::size_t league_ = 1;
  Partial partial_;
  Counter counter_;
  Counts finished_;
  std::uint32_t next_ticket_ = 0;
  std::uint32_t complete_ = 0;
};

}  // namespace tessera::softmax
