#pragma once
/// \file
/// Softmax of columns in one launch, the matrix read once from memory: bands of columns are summed up and, while the
/// last cache still holds them, read again and written.
///
/// A band is some columns, all rows; a task is a chunk of a band's rows. The list of tasks is: the sums of the first
/// bands, then sums of band k + `ahead` and results of band k by turns, then the results of the last bands. Teams draw
/// tasks from a counter. What a chunk sums up to goes through memory; whoever is last to bring a band's sums folds
/// them, in their order, and says that the band is ready. A task of results waits for that.
///
/// Progress: what is waited for has an earlier ticket, so whoever holds it has started, in whatever order the hardware
/// starts teams; tasks of sums wait for nobody.
///
/// Launches: no reset between them. `ready` holds the number of the launch (its epoch), tickets go on counting, and a
/// band's count is set back by whoever was last.
///
/// Source: the tickets are those of decoupled look-back (Merrill and Garland, NVR-2016-002).

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "column_part.hpp"

#include <tessera/collective/device/chunks.hpp>
#include <tessera/collective/device/look_back.hpp>
#include <tessera/collective/device/team_shape.hpp>
#include <tessera/collective/online_sum.hpp>

namespace tessera::softmax {

/// How a matrix falls into bands and tasks.
struct Bands {
  std::size_t rows = 0;
  std::size_t cols = 0;
  int across = 1;  // lanes side by side
  int down = 1;    // lanes below each other
  std::uint32_t bands = 0;
  std::uint32_t chunks = 1;  // of a band's rows
  std::uint32_t chunk_rows = 1;
  std::uint32_t ahead = 1;  // bands between sums and results

  struct Task {
    bool writes;
    std::uint32_t band;
    std::uint32_t chunk;
  };

  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t tasks() const { return 2 * bands * chunks; }

  /// Example, 3 bands of 2 chunks, one ahead: sums 0.0 0.1, then by turns sums 1.0, results 0.0, sums 1.1, results 0.1,
  /// sums 2.0, results 1.0, ..., then results 2.0 2.1.
  [[nodiscard]] KOKKOS_FUNCTION Task task(std::uint32_t number) const {
    std::uint32_t const at_first = ahead * chunks;
    if (number < at_first) return {false, number / chunks, number % chunks};
    std::uint32_t const by_turns = number - at_first;
    std::uint32_t const pairs = (bands - ahead) * chunks;
    if (by_turns < 2 * pairs) {
      std::uint32_t const pair = by_turns / 2;
      bool const writes = by_turns % 2 == 1;
      return {writes, pair / chunks + (writes ? 0 : ahead), pair % chunks};
    }
    std::uint32_t const last = by_turns - 2 * pairs;
    return {true, bands - ahead + last / chunks, last % chunks};
  }
};

template <class Exec, class T, int N>
struct ColumnBands {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<512, 2>>;
  using Member = typename Policy::member_type;
  using Part = ColumnPart<T, N>;
  using Sum = collective::OnlineSum<T>;
  using Sums = ColumnSums<T, N>;
  using Merge = collective::MergeOnlineSums<T>;
  using Scratch = Kokkos::View<Sums*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Word =
      Kokkos::View<std::uint32_t, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int at_once = 8;  // chunks that a lane folds at a time

  Bands of;
  T const* x;
  T* y;
  Sum* partial;            // [chunks, cols]
  T* maxima;               // [cols]
  T* inverses;             // [cols]
  std::uint32_t* counter;  // of tickets
  std::uint32_t* summed;   // chunks of each band; zero between launches
  std::uint32_t* ready;    // epoch in which each band was last ready
  std::uint32_t first_ticket;
  std::uint32_t epoch;

  [[nodiscard]] static int scratch_bytes(int lanes) {
    return static_cast<int>(Scratch::shmem_size(lanes) + 2 * Word::shmem_size());
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), team.team_size());
    Word const ticket(team.team_scratch(0));
    Word const last(team.team_scratch(0));
    for (;;) {
      Kokkos::single(Kokkos::PerTeam(team), [&] { ticket() = Kokkos::atomic_fetch_add(counter, 1u) - first_ticket; });
      team.team_barrier();
      std::uint32_t const number = ticket();
      if (number >= of.tasks()) break;
      Bands::Task const task = of.task(number);
      if (task.writes) {
        write(team, task);
      } else {
        sum_up(team, task, scratch.data(), last.data());
      }
      team.team_barrier();  // the ticket is read: the next one may come
    }
    team.team_barrier();  // hosts go on with another team in the same scratch
  }

 private:
  // Where this lane stands in a task.
  struct Place {
    std::size_t col;
    std::size_t first;
    std::size_t end;
    bool has_columns;
  };
  [[nodiscard]] KOKKOS_FUNCTION Place place(Member const& team, Bands::Task const& task) const {
    int const below = team.team_rank() / of.across;
    std::size_t const col = (static_cast<std::size_t>(task.band) * of.across + team.team_rank() % of.across) * N;
    std::size_t const begin = static_cast<std::size_t>(task.chunk) * of.chunk_rows;
    std::size_t const end = begin + of.chunk_rows < of.rows ? begin + of.chunk_rows : of.rows;
    return {col, begin + below, end, col < of.cols && below < of.down};
  }

  KOKKOS_FUNCTION void sum_up(Member const& team, Bands::Task const& task, Sums* scratch, std::uint32_t* last) const {
    Part const part{x, y, of.cols, of.across, of.down};
    Place const at = place(team, task);
    part.meet(team, at.has_columns ? part.of_rows(at.col, at.first, at.end) : Sums{}, scratch);
    if (at.has_columns && team.team_rank() < of.across) {
      for (int e = 0; e < N; ++e) partial[task.chunk * of.cols + at.col + e] = scratch[team.team_rank()].at[e];
    }
    Kokkos::memory_fence();  // whoever sees the count sees the sums
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team),
                   [&] { *last = Kokkos::atomic_fetch_add(summed + task.band, 1u) + 1 == of.chunks ? 1 : 0; });
    team.team_barrier();
    if (*last == 0) return;
    Kokkos::memory_fence();  // the sums must not be read before the count
    fold(team, static_cast<std::size_t>(task.band) * of.across * N, reinterpret_cast<Sum*>(scratch));
    Kokkos::memory_fence();  // whoever sees the epoch sees the results
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      summed[task.band] = 0;
      device::detail::store_word(ready + task.band, epoch);
    });
  }

  // What all chunks of a band's columns sum up to, as maxima and inverses: several lanes a column, each every so many
  // chunks, as many columns at a time as there are lanes.
  KOKKOS_FUNCTION void fold(Member const& team, std::size_t first_col, Sum* scratch) const {
    int const lanes = team.team_size();
    int const width = of.across * N;
    int const parts = lanes / width > 1 ? lanes / width : 1;
    for (int i = team.team_rank(); i < parts * width; i += lanes) {
      int const col = i % width;
      if (first_col + col >= of.cols) continue;
      Sum const sum = of_chunks(first_col + col, i / width, parts);
      if (parts == 1) {
        store(first_col + col, sum);
      } else {
        scratch[i] = sum;
      }
    }
    if (parts == 1) return;
    team.team_barrier();
    for (int col = team.team_rank(); col < width; col += lanes) {
      if (first_col + col >= of.cols) continue;
      Sum sum = scratch[col];
      for (int part = 1; part < parts; ++part) sum = Merge{}(sum, scratch[part * width + col]);
      store(first_col + col, sum);
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION Sum of_chunks(std::size_t col, std::uint32_t first, int apart) const {
    Sum own;
    for (std::uint32_t chunk = first; chunk < of.chunks; chunk += at_once * apart) {
      Sum sums[at_once];
      for (int k = 0; k < at_once; ++k) {
        std::uint32_t const that = chunk + k * apart;
        if (that < of.chunks) sums[k] = partial[that * of.cols + col];
      }
      T max = own.max;
      for (int k = 0; k < at_once; ++k) max = thread::Larger<T>{}(max, sums[k].max);
      T const reference = collective::online_reference(max);
      T sum = own.sum * collective::exp_nonpositive(own.max - reference);
      for (int k = 0; k < at_once; ++k) sum += sums[k].sum * collective::exp_nonpositive(sums[k].max - reference);
      own = {max, sum};
    }
    return own;
  }

  KOKKOS_FUNCTION void store(std::size_t col, Sum const& sum) const {
    maxima[col] = sum.max;
    inverses[col] = sum.inverse();
  }

  KOKKOS_FUNCTION void write(Member const& team, Bands::Task const& task) const {
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      while (device::detail::load_word(ready + task.band) != epoch) device::detail::back_off();
    });
    team.team_barrier();
    Kokkos::memory_fence();  // the results must not be read before the epoch
    Place const at = place(team, task);
    if (!at.has_columns) return;
    T max[N];
    T inverse[N];
    for (int e = 0; e < N; ++e) {
      max[e] = maxima[at.col + e];
      inverse[e] = inverses[at.col + e];
    }
    Part{x, y, of.cols, of.across, of.down}.write(at.col, at.first, at.end, max, inverse);
  }
};

/// The softmax of columns in bands: their memory, and the launch.
template <class Exec, class T, int N>
class BandedColumns {
 public:
  using Kernel = ColumnBands<Exec, T, N>;

  BandedColumns(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team)
      : lanes_(device::team_size(exec, team)),
        of_(bands(exec, lanes_, rows, cols)),
        partial_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::softmax::columns_banded::partial"),
                 static_cast<std::size_t>(of_.chunks) * cols),
        maxima_("tessera::softmax::columns_banded::maxima", cols),
        inverses_("tessera::softmax::columns_banded::inverses", cols),
        counter_("tessera::softmax::columns_banded::counter"),
        summed_("tessera::softmax::columns_banded::summed", of_.bands),
        ready_("tessera::softmax::columns_banded::ready", of_.bands) {}

  void operator()(Exec const& exec, T const* x, T* y) {
    if (of_.rows == 0 || of_.cols == 0) return;
    if (++epoch_ == 0) epoch_ = 1;  // 2^32 launches later: what the first of them left is long overwritten
    // As many teams as need to be under way to keep the memory busy: what is between sums and results has to stay in
    // the cache. Each draws one ticket too many.
    std::size_t const busy = is_gpu<Exec> ? device::teams_that_fill(exec, lanes_) / 4 : exec.concurrency() / lanes_;
    auto const teams = static_cast<std::uint32_t>(std::clamp<std::size_t>(busy, 1, of_.tasks()));
    Kernel const kernel{of_,
                        x,
                        y,
                        partial_.data(),
                        maxima_.data(),
                        inverses_.data(),
                        counter_.data(),
                        summed_.data(),
                        ready_.data(),
                        next_ticket_,
                        epoch_};
    next_ticket_ += of_.tasks() + teams;
    typename Kernel::Policy policy(exec, static_cast<int>(teams), lanes_);
    Kokkos::parallel_for("tessera::softmax::columns_banded::bands",
                         policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes(lanes_))), kernel);
  }

  /// A lane's rows of a chunk, the lanes below each other; a lane's chunks, and the lanes of a column.
  [[nodiscard]] double rounding_steps() const {
    constexpr int in_flight = Kernel::Part::in_flight;
    double const rounds = std::ceil(static_cast<double>(of_.chunk_rows) / (static_cast<double>(of_.down) * in_flight));
    double const parts = std::max(1, lanes_ / (of_.across * N));
    double const folds = std::ceil(of_.chunks / (parts * Kernel::at_once)) + parts;
    return Kernel::Merge::rounding_steps * (rounds + std::ceil(std::log2(of_.down)) + folds) + in_flight +
           Kernel::at_once;
  }

  [[nodiscard]] std::string note() const {
    return std::to_string(of_.bands) + " bands of " + std::to_string(of_.across * N) + " columns, " +
           std::to_string(of_.chunks) + " chunks";
  }

 private:
  /// Bands of whole lines of memory, of at most some MB, or of a line; tasks of 32 KB. Throws Skip if 32 bits do not
  /// count the tasks.
  [[nodiscard]] static Bands bands(Exec const& exec, int lanes, std::size_t rows, std::size_t cols) {
    constexpr std::size_t most_bytes = is_gpu<Exec> ? std::size_t{4} << 20 : std::size_t{1} << 18;
    constexpr std::size_t line = 128;
    Bands of{.rows = rows, .cols = cols};
    auto const widest = static_cast<std::size_t>(std::bit_floor(static_cast<unsigned>(lanes)));
    std::size_t const packs = std::max<std::size_t>(1, cols / N);
    std::size_t const fits = most_bytes / (sizeof(T) * N) / std::max<std::size_t>(1, rows);
    std::size_t const across = std::clamp<std::size_t>(std::bit_floor(fits), line / (sizeof(T) * N), 64);
    of.across = static_cast<int>(std::min({across, widest, std::bit_ceil(packs)}));
    of.down = lanes / of.across;
    // Two rounds of a lane's rows under way: half as many chunks to fold.
    std::size_t const chunk_rows = static_cast<std::size_t>(of.down) * Kernel::Part::in_flight * 2;
    std::size_t const chunks = std::max<std::size_t>(1, device::tiles_of(rows, chunk_rows));
    std::size_t const count = device::tiles_of(packs, static_cast<std::size_t>(of.across));
    if (chunks * count >= (std::size_t{1} << 30)) {
      throw Skip("bands of " + std::to_string(chunks * count) + " chunks (32 bits count tasks of up to 2^30)");
    }
    of.chunk_rows = static_cast<std::uint32_t>(chunk_rows);
    of.chunks = static_cast<std::uint32_t>(chunks);
    of.bands = static_cast<std::uint32_t>(count);
    // Between the last sums of a band and its first results lie `ahead` - 1 bands of sums and results: more tasks than
    // are under way.
    std::size_t const under_way = device::teams_that_fill(exec, lanes);
    of.ahead =
        static_cast<std::uint32_t>(std::clamp<std::size_t>(1 + device::tiles_of(under_way, 2 * chunks), 1, count));
    return of;
  }

  int lanes_;
  Bands of_;
  Kokkos::View<collective::OnlineSum<T>*, typename Exec::memory_space> partial_;
  Kokkos::View<T*, typename Exec::memory_space> maxima_;
  Kokkos::View<T*, typename Exec::memory_space> inverses_;
  Kokkos::View<std::uint32_t, typename Exec::memory_space> counter_;
  Kokkos::View<std::uint32_t*, typename Exec::memory_space> summed_;
  Kokkos::View<std::uint32_t*, typename Exec::memory_space> ready_;
  std::uint32_t next_ticket_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace tessera::softmax
