#pragma once
/// \file
/// The k largest elements of an array, or of each row of a matrix, with their indices: the largest first, and of equal
/// ones the lowest index first.
///
/// Order (collective/key_order.hpp, as kernels/sort.hpp sorts upwards): integers by value; floats by value, -0 and 0
/// equal, NaN above all numbers. Elements keep their bits.
///
/// A radix select. Teams count the elements by their highest 8 bits; the last team of a row to finish walks down the
/// bins to the bin of the k-th element. The next launch counts the next 8 bits of the elements of this bin only. Now
/// all elements above the k-th are known, and how many are taken of those equal to it. Each thread counts these two
/// classes in its part of the row, a scan of the counts gives each part its places, and threads write what is taken, in
/// the order of indices. At last the k elements of each row are sorted. A row of one chunk needs one launch for all
/// digits, and a digit whose bin is taken as a whole is the last one.
///
/// Traffic: n per digit of 8 bits (4 or 8), n for the counts; what is written is read once more, with its part.
///
/// Memory: 36 to 68 bytes per result, and 32 bytes per thread.
///
/// Example, bits of 2 instead of 8, k = 3: 9 3 6 12 6 6 -> bins of the high digits 1 3 1 1 in ascending order, the
/// third largest is in bin 1, of which one element is taken; its low digit is 2 -> values 12 9 6, indices 3 0 2.
///
/// Use:  top_k(exec, in, values, indices);  // k is the length of values; of matrices, its columns
/// or, enqueued many times:  TopK<Exec, float> top(exec, rows, n, k);  top(exec, in, values, indices);
///
/// Source: Alabi, Blanchard, Gordon and Steinbach, Fast k-selection algorithms for graphics processing units, 2012.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <tessera/collective/key_order.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/sort/count_bins.hpp>
#include <tessera/kernels/detail/sort/order_candidates.hpp>
#include <tessera/kernels/scan.hpp>

namespace tessera::kernels {

/// Tuning parameters of TopK. No number is measured yet.
template <ExecutionSpace Exec, class T>
struct TopKTuning {
  static constexpr int lanes = is_gpu<Exec> ? 32 : 1;
  /// Threads per team, which share 256 counters. On a host one, so that they need no atomics.
  static constexpr int threads = is_gpu<Exec> ? 8 : 1;
  /// Elements per lane of a chunk, at least: a chunk also costs 256 additions to the row's counters.
  static constexpr int items = is_gpu<Exec> ? 16 : 4096;
};

namespace detail {

/// The elements of a row that are taken: all whose leading bits are above `prefix`, and the first `left` of those whose
/// leading bits are equal to it. The leading bits of a word are those from `shift` on.
template <class Word>
struct Threshold {
  Word prefix;
  int shift;
  bool is_decided;  ///< all that are equal are taken: lower digits need not be counted
  std::int64_t left;
};

/// The parts of rows: a chunk per team, and a part of it per thread.
struct RowParts {
  Chunks chunks;  ///< of a row
  int threads;
  std::size_t part;

  struct Own {
    std::size_t row;
    std::size_t begin;  ///< in the row
    std::size_t end;
    std::size_t number;  ///< of the part, in all rows
  };

  [[nodiscard]] KOKKOS_FUNCTION std::size_t per_row() const {
    return static_cast<std::size_t>(chunks.count) * static_cast<std::size_t>(threads);
  }
  template <class Member>
  [[nodiscard]] KOKKOS_FUNCTION Own of(Member const& team) const {
    int const chunk = team.league_rank() % chunks.count;
    auto const row = static_cast<std::size_t>(team.league_rank() / chunks.count);
    std::size_t const end = chunks.end(chunk);
    std::size_t const begin = Kokkos::min(end, chunks.begin(chunk) + static_cast<std::size_t>(team.team_rank()) * part);
    return {row, begin, Kokkos::min(end, begin + part),
            row * per_row() + static_cast<std::size_t>(chunk * threads + team.team_rank())};
  }
};

/// What the kernels of TopK share.
template <ExecutionSpace Exec, class T, class Tuning>
struct TopKElements {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Word = collective::KeyWord<T>;
  static constexpr int width = Lanes::width;
  static constexpr int vector_length = lane::vector_length<Exec>(width);

  T const* in;
  RowParts parts;
  Threshold<Word>* thresholds;  ///< [rows]

  [[nodiscard]] KOKKOS_FUNCTION Word word(std::size_t row, std::size_t i) const {
    return collective::ascending_word(in[row * parts.chunks.n + i]);
  }
};

/// Counts digits `first` to `end` - 1 of each row, the highest is digit 0, and finds the bin of the k-th element.
template <ExecutionSpace Exec, class T, class Tuning>
struct FindThresholdKernel : TopKElements<Exec, T, Tuning> {
  using Base = TopKElements<Exec, T, Tuning>;
  using Base::width;
  using typename Base::Lanes, typename Base::Member, typename Base::Word;
  using Counter = BinCounter<Exec>;
  struct Shared {
    Threshold<Word> threshold;
    bool is_last;
  };
  template <class E>
  using Scratch = ScratchView<E*, Exec>;

  std::int64_t k;
  int first;
  int end;
  std::int64_t* totals;     ///< [rows][256], zero before and after every launch; null with one chunk per row
  std::uint32_t* finished;  ///< [rows], the same: teams that have added their counts

  [[nodiscard]] static std::size_t scratch_bytes() {
    return Scratch<Counter>::shmem_size(bin_count) + Scratch<std::int64_t>::shmem_size(bin_count) +
           Scratch<Shared>::shmem_size(1);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch<Counter> const counters(team.team_scratch(0), bin_count);
    Scratch<std::int64_t> const sums(team.team_scratch(0), bin_count);
    Scratch<Shared> const shared(team.team_scratch(0), 1);
    auto const own = this->parts.of(team);
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      if (first == 0) {
        shared(0).threshold = {0, collective::key_bits<T>, false, k};
      } else {
        shared(0).threshold = this->thresholds[own.row];
      }
    });
    for (int digit = first; digit < end; ++digit) {
      for_each_bin(team, [&](int bin) { counters(bin) = 0; });
      team.team_barrier();
      Threshold<Word> const upto = shared(0).threshold;
      if (upto.is_decided) break;
      count(own, upto.prefix, digit, counters.data());
      team.team_barrier();
      if (!sum_of_row(team, own.row, counters, sums, shared)) break;
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        // k is at most n: there is such a bin.
        int bin = bin_count - 1;
        std::int64_t left = upto.left;
        for (; sums(bin) < left; --bin) left -= sums(bin);
        Word const prefix = static_cast<Word>(upto.prefix << bin_bits) | static_cast<Word>(bin);
        shared(0).threshold = {prefix, shift_of(digit), sums(bin) == left, left};
        this->thresholds[own.row] = shared(0).threshold;
      });
      team.team_barrier();
    }
    leave_scratch(team);
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION static int shift_of(int digit) {
    return collective::key_bits<T> - bin_bits * (digit + 1);
  }

  template <class Body>
  KOKKOS_FUNCTION void for_each_bin(Member const& team, Body const& body) const {
    Lanes const lanes;
    lanes.each([&](int lane) {
      for (int bin = team.team_rank() * width + lane; bin < bin_count; bin += team.team_size() * width) body(bin);
    });
  }

  // Counts a digit of the thread's elements whose higher digits are `prefix`.
  KOKKOS_FUNCTION void count(RowParts::Own const& own, Word prefix, int digit, Counter* counters) const {
    Lanes const lanes;
    int const shift = shift_of(digit);
    lanes.each([&](int lane) {
      for (std::size_t i = own.begin + static_cast<std::size_t>(lane); i < own.end; i += width) {
        Word const leading = this->word(own.row, i) >> shift;
        if (leading >> bin_bits != prefix) continue;
        Counter* const counter = counters + (leading & Word(bin_count - 1));
        if constexpr (Tuning::threads * Tuning::lanes > 1) {
          add_to_counter(counter, 1);
        } else {
          ++*counter;
        }
      }
    });
  }

  // Returns true if `sums` are the counts of the whole row: in the last of its teams.
  KOKKOS_FUNCTION bool sum_of_row(Member const& team, std::size_t row, Scratch<Counter> const& counters,
                                  Scratch<std::int64_t> const& sums, Scratch<Shared> const& shared) const {
    if (this->parts.chunks.count == 1) {
      for_each_bin(team, [&](int bin) { sums(bin) = static_cast<std::int64_t>(counters(bin)); });
      team.team_barrier();
      return true;
    }
    std::int64_t* const of_row = totals + row * bin_count;
    for_each_bin(team, [&](int bin) {
      auto const more = static_cast<std::int64_t>(counters(bin));
      if (more != 0) Kokkos::atomic_add(of_row + bin, more);
    });
    Kokkos::memory_fence();  // a team that sees the number of finished teams must also see their counts
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      auto const teams = static_cast<std::uint32_t>(this->parts.chunks.count);
      shared(0).is_last = Kokkos::atomic_fetch_add(finished + row, 1U) + 1 == teams;
      if (shared(0).is_last) finished[row] = 0;
    });
    team.team_barrier();
    if (!shared(0).is_last) return false;
    Kokkos::memory_fence();
    for_each_bin(team, [&](int bin) { sums(bin) = Kokkos::atomic_exchange(of_row + bin, std::int64_t{0}); });
    team.team_barrier();
    return true;
  }
};

/// Counts the elements of each part that are above the threshold, and those that are equal to it.
template <ExecutionSpace Exec, class T, class Tuning>
struct CountTakenKernel : TopKElements<Exec, T, Tuning> {
  using Base = TopKElements<Exec, T, Tuning>;
  using typename Base::Lanes, typename Base::Member, typename Base::Word;

  std::size_t all_parts;
  std::int64_t* counts;  ///< [2][all_parts] above, equal

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    auto const own = this->parts.of(team);
    Threshold<Word> const threshold = this->thresholds[own.row];
    auto above = lanes.template fill<std::int64_t>(0);
    auto equal = lanes.template fill<std::int64_t>(0);
    lanes.each(
        [&](int lane, std::int64_t& more_above, std::int64_t& more_equal) {
          for (std::size_t i = own.begin + static_cast<std::size_t>(lane); i < own.end; i += Base::width) {
            Word const leading = this->word(own.row, i) >> threshold.shift;
            more_above += leading > threshold.prefix ? 1 : 0;
            more_equal += leading == threshold.prefix ? 1 : 0;
          }
        },
        above, equal);
    collective::Sum<std::int64_t> const sum;
    std::int64_t const all_above = thread::reduce<std::int64_t>(lanes, above, sum);
    std::int64_t const all_equal = thread::reduce<std::int64_t>(lanes, equal, sum);
    Kokkos::single(Kokkos::PerThread(team), [&] {
      counts[own.number] = all_above;
      counts[all_parts + own.number] = all_equal;
    });
  }
};

/// Writes the elements that are taken, each class in the order of indices: the k - left above the threshold, then those
/// equal to it.
template <ExecutionSpace Exec, class T, class Tuning>
struct WriteTakenKernel : TopKElements<Exec, T, Tuning> {
  using Base = TopKElements<Exec, T, Tuning>;
  using typename Base::Lanes, typename Base::Member, typename Base::Word;

  std::size_t all_parts;
  std::int64_t const* before;  ///< exclusive sums of the counts, and their total
  std::int64_t k;
  Word* words;           ///< [rows, k]
  std::int64_t* places;  ///< [rows, k]

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    auto const own = this->parts.of(team);
    Threshold<Word> const threshold = this->thresholds[own.row];
    std::int64_t const* const above_before = before + own.number;
    std::int64_t const* const equal_before = above_before + all_parts;
    std::size_t const first_part = own.row * this->parts.per_row();
    // Elements of each class before the part, in the row.
    std::int64_t above = above_before[0] - before[first_part];
    std::int64_t equal = equal_before[0] - before[all_parts + first_part];
    bool const has_above = above_before[1] != above_before[0];
    bool const has_equal = equal_before[1] != equal_before[0] && equal < threshold.left;
    if (!has_above && !has_equal) return;
    std::int64_t const first_place = static_cast<std::int64_t>(own.row) * k;
    for (std::size_t begin = own.begin; begin < own.end; begin += Base::width) {
      auto own_words = lanes.template fill<Word>(0);
      auto is_above = lanes.template fill<bool>(false);
      auto is_equal = lanes.template fill<bool>(false);
      lanes.each(
          [&](int lane, Word& word, bool& goes_first, bool& goes_later) {
            std::size_t const i = begin + static_cast<std::size_t>(lane);
            if (i >= own.end) return;
            word = this->word(own.row, i);
            Word const leading = word >> threshold.shift;
            goes_first = leading > threshold.prefix;
            goes_later = leading == threshold.prefix;
          },
          own_words, is_above, is_equal);
      std::uint64_t const all_above = lanes.ballot(is_above);
      std::uint64_t const all_equal = lanes.ballot(is_equal);
      lanes.each(
          [&](int lane, Word const& word, bool const& goes_first, bool const& goes_later) {
            std::uint64_t const lower = (std::uint64_t{1} << lane) - 1;
            std::int64_t const rank = equal + Kokkos::popcount(all_equal & lower);
            std::int64_t place = above + Kokkos::popcount(all_above & lower);
            if (goes_later) place = k - threshold.left + rank;
            if (!goes_first && !(goes_later && rank < threshold.left)) return;
            words[first_place + place] = word;
            places[first_place + place] =
                static_cast<std::int64_t>(own.row * this->parts.chunks.n + begin + static_cast<std::size_t>(lane));
          },
          own_words, is_above, is_equal);
      above += Kokkos::popcount(all_above);
      equal += Kokkos::popcount(all_equal);
    }
  }
};

}  // namespace detail

/// Finds the k largest elements of each row. Construct it once: allocates places and words of the results, and counts.
/// A call only enqueues; calls on one object must not run concurrently.
template <ExecutionSpace Exec, class T, class Tuning = TopKTuning<Exec, T>>
class TopK {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "Tessera: elements are integers or floats of 32 or 64 bits");
  using Word = collective::KeyWord<T>;
  using Find = detail::FindThresholdKernel<Exec, T, Tuning>;
  using Count = detail::CountTakenKernel<Exec, T, Tuning>;
  using Write = detail::WriteTakenKernel<Exec, T, Tuning>;
  template <class E>
  using Array = Kokkos::View<E*, typename Exec::memory_space>;

 public:
  /// \param rows, n shape of the input; an array is one row
  /// \param k elements per row; throws std::invalid_argument above n
  /// \param label kernel name that Kokkos Tools reports
  TopK(Exec const& exec, std::size_t rows, std::size_t n, std::size_t k, std::string const& label = "tessera::top_k")
      : label_(label), rows_(rows), n_(n), k_(k) {
    if (k > n) {
      throw std::invalid_argument("the " + std::to_string(k) + " largest of " + std::to_string(n) +
                                  " elements (there are not as many); choose k up to " + std::to_string(n));
    }
    if (rows == 0 || k == 0) return;
    constexpr int lanes = Tuning::threads * Tuning::lanes;
    constexpr std::size_t tile = static_cast<std::size_t>(lanes) * Tuning::items;
    // A team counts in 32 bits on a GPU.
    std::size_t const teams = std::max(teams_that_fill(exec, lanes) / rows, n >> 31);
    parts_.chunks = split(n, tile, teams);
    parts_.threads = Tuning::threads;
    parts_.part = Tuning::lanes * tiles_of(std::min(n, parts_.chunks.size), lanes);
    all_parts_ = rows * parts_.per_row();
    league_ = league_of(rows * static_cast<std::size_t>(parts_.chunks.count));
    thresholds_ = Array<detail::Threshold<Word>>(unset(label + "::thresholds"), rows);
    counts_ = Array<std::int64_t>(label + "::counts", 2 * all_parts_ + 1);  // the last stays 0
    before_ = Array<std::int64_t>(unset(label + "::before"), 2 * all_parts_ + 1);
    if (parts_.chunks.count > 1) {
      totals_ = Array<std::int64_t>(label + "::totals", rows * detail::bin_count);
      finished_ = Array<std::uint32_t>(label + "::finished", rows);
    }
    scan_.emplace(exec, 2 * all_parts_ + 1, Elements{.exclusive = true}, 0, 0, label);
    order_.emplace(exec, rows, n, k, label);
  }

  /// Enqueues. `in` [n], `values` and `indices` [k]: contiguous, apart. Throws std::invalid_argument if they are not,
  /// or if the object was made for several rows.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Values, Writable<Exec, std::int64_t, 1> Indices>
  void operator()(Exec const& exec, In const& in, Values const& values, Indices const& indices) {
    if (rows_ != 1) detail::refuse(in.label(), "is an array", "the kernel was made for rows", "give it a matrix");
    require_results_apart(in, values, indices);
    enqueue(exec, contiguous(in, n_), contiguous(values, k_), contiguous(indices, k_));
  }

  /// The same for `in` [rows, n], `values` and `indices` [rows, k], row by row.
  template <Readable<Exec, T, 2> In, Writable<Exec, T, 2> Values, Writable<Exec, std::int64_t, 2> Indices>
  void operator()(Exec const& exec, In const& in, Values const& values, Indices const& indices) {
    require_results_apart(in, values, indices);
    enqueue(exec, row_major(in, rows_, n_), row_major(values, rows_, k_), row_major(indices, rows_, k_));
  }

  [[nodiscard]] std::string note() const { return std::to_string(parts_.chunks.count) + " chunks per row"; }

 private:
  using Elements = ScanElements<std::int64_t, collective::Sum<std::int64_t>>;

  template <class In, class Values, class Indices>
  static void require_results_apart(In const& in, Values const& values, Indices const& indices) {
    require_apart(values, in);
    require_apart(indices, in, values);
  }

  void enqueue(Exec const& exec, T const* in, T* values, std::int64_t* indices) {
    if (!order_) return;
    using Policy = typename Find::Policy;
    Policy const policy(exec, league_, Tuning::threads, Find::vector_length);
    typename Find::Base const elements{in, parts_, thresholds_.data()};
    auto const k = static_cast<std::int64_t>(k_);
    constexpr int digits = collective::key_bits<T> / detail::bin_bits;
    int const at_once = parts_.chunks.count == 1 ? digits : 1;
    for (int digit = 0; digit < digits; digit += at_once) {
      Kokkos::parallel_for(label_ + "::find", with_scratch(policy, Find::scratch_bytes()),
                           Find{elements, k, digit, digit + at_once, totals_.data(), finished_.data()});
    }
    Kokkos::parallel_for(label_ + "::count", policy, Count{elements, all_parts_, counts_.data()});
    (*scan_)(exec, counts_, before_);
    Kokkos::parallel_for(label_ + "::write", policy,
                         Write{elements, all_parts_, before_.data(), k, order_->words(), order_->places()});
    (*order_)(exec, in, k_, values, indices);
  }

  std::string label_;
  std::size_t rows_;
  std::size_t n_;
  std::size_t k_;
  detail::RowParts parts_ = {};
  std::size_t all_parts_ = 0;
  int league_ = 0;
  Array<detail::Threshold<Word>> thresholds_;
  Array<std::int64_t> counts_;
  Array<std::int64_t> before_;
  Array<std::int64_t> totals_;
  Array<std::uint32_t> finished_;
  std::optional<LookBackScan<Exec, std::int64_t>> scan_;
  std::optional<detail::OrderCandidates<Exec, T>> order_;
};

/// Writes the k largest elements of `in` [n] to `values` [k] and their indices to `indices` [k], or the same for each
/// row of `in` [rows, n]. Convenience for a single call: allocates, enqueues and waits.
template <ExecutionSpace Exec, class In, class Values, class Indices>
void top_k(Exec const& exec, In const& in, Values const& values, Indices const& indices) {
  constexpr bool is_matrix = In::rank() == 2;
  TopK<Exec, typename In::non_const_value_type> top(exec, is_matrix ? in.extent(0) : 1, in.extent(is_matrix ? 1 : 0),
                                                    values.extent(is_matrix ? 1 : 0));
  top(exec, in, values, indices);
  exec.fence("tessera: top_k");  // the kernel's memory is freed at the end of this call
}

}  // namespace tessera::kernels
