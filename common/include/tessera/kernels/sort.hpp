#pragma once
/// \file
/// A stable sort of keys of 32 or 64 bits, and of values of 32 or 64 bits with them: by digits of 8 bits, the lowest
/// first. Source: Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs
/// (arXiv:2206.01784).
///
/// - OnesweepSort: one launch counts the bins of all digits. For each digit, one pass moves each key to its bin: a tile
///   learns from its predecessors how many keys of each bin are before it (decoupled look-back,
///   collective/bin_look_back.hpp). n traffic, and 2n per digit.
/// - RadixSort: three launches per digit. Teams count the bins of their chunks, a scan turns counts into places, and
///   teams move the keys of their chunks. No team waits for another. 3n traffic per digit.
///
/// Up to some thousand keys, one team sorts them in one launch. Arrays of any length are sorted, also beyond 2^32.
///
/// Order (collective/key_order.hpp): integers by value; floats by value, NaN last, -0 and 0 equal. `descending`: the
/// largest first, NaN last. `begin_bit`, `end_bit`: only these bits of a key's word count. Equal keys keep their order.
/// Keys keep their bits. On a GPU a tile is held in registers and ordered in scratch, so that the keys of a bin are
/// written as one run. On a host each thread writes its keys directly.
///
/// Memory: a copy of the keys and values, and the counts: at most 9 MB, or 1% of more than 900 MB.
///
/// Example: keys 5 3 3 1, values 0 1 2 3 -> keys 1 3 3 5, values 3 1 2 0.
///
/// Use:  sort(exec, keys, sorted);  sort_pairs(exec, keys, values, sorted_keys, sorted_values, {.descending = true});
/// or, enqueued many times:  OnesweepSort<Exec, float> sort(exec, n);  sort(exec, keys, sorted);
/// with values:  OnesweepSort<Exec, float, int> sort(exec, n);  sort(exec, keys, values, sorted_keys, sorted_values);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <tessera/collective/key_order.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/large_scratch.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/sort/bin_tuning.hpp>
#include <tessera/kernels/detail/sort/count_bins.hpp>
#include <tessera/kernels/detail/sort/joined_bins.hpp>
#include <tessera/kernels/detail/sort/look_back_bins.hpp>
#include <tessera/kernels/detail/sort/scatter_bins.hpp>
#include <tessera/kernels/scan.hpp>

namespace tessera::kernels {

/// Tuning parameters of RadixSort and OnesweepSort.
template <ExecutionSpace Exec, class Key, class Value = NoValue>
using SortTuning = BinTuning<Exec, Key, Value>;

/// The order of a sort.
struct SortOrder {
  bool descending = false;
  int begin_bit = 0;  ///< the lowest bit of a key's word that counts
  int end_bit = 0;    ///< one above the highest bit that counts; 0: the key's width
};

namespace detail {

/// The bits of a key that count, and its digits.
template <class Key>
struct KeyCodes {
  collective::KeyOrder<Key> order;
  [[nodiscard]] KOKKOS_FUNCTION auto code(Key const& key) const { return order(key); }
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t of(collective::KeyWord<Key> code, int digit) const {
    return static_cast<std::uint32_t>(code >> (bin_bits * digit)) & (bin_count - 1U);
  }
};

/// The digits of a key, by the order of the sort.
template <class Key>
struct DigitsOfKeys {
  bool descending;
  int begin_bit;
  int end_bit;

  DigitsOfKeys(SortOrder const& order)
      : descending(order.descending),
        begin_bit(order.begin_bit),
        end_bit(order.end_bit == 0 ? collective::key_bits<Key> : order.end_bit) {
    if (begin_bit >= 0 && begin_bit < end_bit && end_bit <= collective::key_bits<Key>) return;
    throw std::invalid_argument("bits " + std::to_string(begin_bit) + " to " + std::to_string(end_bit) +
                                " of a key (it has bits 0 to " + std::to_string(collective::key_bits<Key>) +
                                "); choose 0 <= begin_bit < end_bit <= " + std::to_string(collective::key_bits<Key>));
  }

  [[nodiscard]] KOKKOS_FUNCTION int count() const { return (end_bit - begin_bit + bin_bits - 1) / bin_bits; }
  /// Returns all digits.
  [[nodiscard]] KeyCodes<Key> codes() const { return {collective::KeyOrder<Key>(descending, begin_bit, end_bit)}; }
  /// Returns the order by one digit: the bin of a key.
  [[nodiscard]] KOKKOS_FUNCTION collective::KeyOrder<Key> bin_of(int digit) const {
    int const begin = begin_bit + digit * bin_bits;
    return collective::KeyOrder<Key>(descending, begin, begin + bin_bits < end_bit ? begin + bin_bits : end_bit);
  }
};

/// One team sorts the whole array. On a host one thread does, with a copy of the arrays.
template <ExecutionSpace Exec, class Key, class Value, class Tuning>
struct SmallSortKernel {
  using Bounds = typename Tuning::Bounds;
  using Policy = Kokkos::TeamPolicy<Exec, Bounds>;
  using Member = typename Policy::member_type;
  using BinOf = collective::KeyOrder<Key>;
  using Tile = BinTile<Exec, Key, Value, BinOf, Tuning, Tuning::small_rows>;
  static constexpr int vector_length = lane::vector_length<Exec>(Tuning::lanes);
  using Arrays = MovedArrays<Key, Value>;

  Arrays arrays;
  Key* keys_copy;      ///< on hosts
  Value* values_copy;  ///< on hosts
  int n;
  DigitsOfKeys<Key> digits;

  /// Returns the longest array.
  [[nodiscard]] static constexpr int most() {
    if constexpr (Tuning::warps) {
      return items_of_tile<Key, Tuning, Tuning::small_rows>();
    } else {
      return Tuning::small;
    }
  }
  [[nodiscard]] static std::size_t scratch_bytes() {
    if constexpr (Tuning::warps) {
      return Tile::scratch_bytes();
    } else {
      return HostBins<Exec>::scratch_bytes();
    }
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    if constexpr (Tuning::warps) {
      Tile tile(team);
      tile.load(arrays, 0, n);
      tile.load_values(arrays, 0);
      for (int digit = 0; digit < digits.count(); ++digit) {
        tile.rank_items(team, digits.bin_of(digit), [](int, std::uint32_t) {});
        tile.exchange(team);
        tile.exchange_values();
        team.team_barrier();
        tile.take_back(team);
      }
      tile.store_in_order(arrays.to, arrays.values_to);
      leave_scratch(team);
    } else {
      sort_on_host(team);
    }
  }

 private:
  KOKKOS_FUNCTION void sort_on_host(Member const& team) const {
    HostBins<Exec> const bins(team);
    int const count = digits.count();
    Arrays pass = arrays;
    for (int digit = 0; digit < count; ++digit) {
      bool const to_result = (count - 1 - digit) % 2 == 0;
      pass.to = to_result ? arrays.to : keys_copy;
      pass.values_to = to_result ? arrays.values_to : values_copy;
      BinOf const bin_of = digits.bin_of(digit);
      for (int bin = 0; bin < bin_count; ++bin) bins.counts(bin) = 0;
      for (int i = 0; i < n; ++i) ++bins.counts(bin_of(pass.from[i]));
      std::int64_t begin = 0;
      for (int bin = 0; bin < bin_count; ++bin) {
        bins.next(bin) = begin;
        begin += bins.counts(bin);
      }
      bins.move(pass, 0, static_cast<std::size_t>(n), bin_of);
      pass.from = pass.to;
      pass.values_from = pass.values_to;
    }
  }
};

/// Passes over chunks: count, scan, scatter.
template <ExecutionSpace Exec, class Key, class Value, class Tuning>
class ChunkedPasses {
  using BinOf = collective::KeyOrder<Key>;
  using Scatter = ScatterChunksKernel<Exec, Key, Value, BinOf, Tuning>;
  using Count = CountChunksKernel<Exec, Key, BinCodes<Key, BinOf>, Tuning>;
  static constexpr int tile = items_of_tile<Key, Tuning>();
  static constexpr int threads = Tuning::threads;

 public:
  static constexpr char const* label = "tessera::radix_sort";
  [[nodiscard]] static double reads_of_keys(int digits) { return 2 * digits; }

  ChunkedPasses(Exec const& exec, std::size_t n, DigitsOfKeys<Key> const&, std::string const& label)
      : label_(label),
        // On a host, a chunk need not be whole tiles.
        chunks_(chunks_of(exec, n, Tuning::warps ? tile : 1, threads * Scatter::vector_length)),
        counts_(unset(label + "::counts"), static_cast<std::size_t>(bin_count) * chunks_.count),
        scan_(exec, counts_.extent(0), {.exclusive = true}, 0, 0, label),
        scatter_(exec, threads, Scatter::scratch_bytes()) {}

  void begin(Exec const&, Key const*) {}

  void pass(Exec const& exec, int digit, DigitsOfKeys<Key> const& digits, MovedArrays<Key, Value> const& arrays) {
    BinOf const bin_of = digits.bin_of(digit);
    int const counting = is_gpu<Exec> ? Tuning::count_threads : 1;
    Kokkos::parallel_for(label_ + "::count",
                         with_scratch(typename Count::Policy(exec, chunks_.count, counting, Scatter::vector_length),
                                      Count::scratch_bytes()),
                         Count{{bin_of}, arrays.from, counts_.data(), chunks_});
    scan_(exec, counts_, counts_);
    scatter_(label_ + "::scatter", exec, chunks_.count, Scatter{arrays, bin_of, counts_.data(), chunks_, tile});
  }

  [[nodiscard]] std::string note() const { return std::to_string(chunks_.count) + " chunks"; }

 private:
  std::string label_;
  Chunks chunks_;
  Kokkos::View<std::int64_t*, typename Exec::memory_space> counts_;
  LookBackScan<Exec, std::int64_t> scan_;
  LargeScratchLaunch<Exec, Scatter> scatter_;
};

/// One launch that counts all digits, and passes with look-back.
template <ExecutionSpace Exec, class Key, class Value, class Tuning>
class OnesweepPasses {
  using Passes = std::conditional_t<Tuning::joins, JoinedBins<Exec, Key, Value, KeyCodes<Key>, Tuning>,
                                    LookBackBins<Exec, Key, Value, collective::KeyOrder<Key>, KeyCodes<Key>, Tuning>>;

 public:
  static constexpr char const* label = "tessera::onesweep_sort";
  [[nodiscard]] static double reads_of_keys(int digits) { return 1 + digits; }

  OnesweepPasses(Exec const& exec, std::size_t n, DigitsOfKeys<Key> const& digits, std::string const& label)
      : codes_(digits.codes()), passes_(exec, n, digits.count(), label) {}

  void begin(Exec const& exec, Key const* keys) { passes_.count(exec, keys, codes_); }
  void pass(Exec const& exec, int digit, DigitsOfKeys<Key> const& digits, MovedArrays<Key, Value> const& arrays) {
    passes_.pass(exec, digit, digits.bin_of(digit), arrays);
  }
  [[nodiscard]] std::string note() const { return passes_.note(); }

 private:
  KeyCodes<Key> codes_;
  Passes passes_;
};

/// The common part of RadixSort and OnesweepSort.
template <ExecutionSpace Exec, class Key, class Value, class Tuning, class Passes>
class DigitSort {
  static_assert(std::is_arithmetic_v<Key> && (sizeof(Key) == 4 || sizeof(Key) == 8),
                "Tessera: keys are integers or floats of 32 or 64 bits");
  static_assert(std::is_trivially_copyable_v<Value> && (value_bytes<Value> % 4 == 0) && value_bytes<Value> <= 8,
                "Tessera: values have 32 or 64 bits");
  using Small = SmallSortKernel<Exec, Key, Value, Tuning>;
  using Arrays = MovedArrays<Key, Value>;
  static constexpr bool has_values = value_bytes<Value> > 0;

 public:
  using Order = SortOrder;

  /// \param n keys of each array
  /// \param order direction and bits; throws std::invalid_argument if they are no bits of a key
  /// \param label kernel name that Kokkos Tools reports
  explicit DigitSort(Exec const& exec, std::size_t n, SortOrder const& order = {},
                     std::string const& label = Passes::label)
      : label_(label),
        n_(n),
        digits_(order),
        is_small_(n <= static_cast<std::size_t>(Small::most())),
        small_(exec, Tuning::threads, Small::scratch_bytes()),
        copy_(unset(label + "::copy"), needs_copy() ? values_begin() + n * value_bytes<Value> : 0),
        passes_(exec, is_small_ ? 0 : n, digits_, label) {}

  /// Enqueues. `keys`, `sorted` [n]: contiguous, apart. Throws std::invalid_argument if they are not.
  template <Readable<Exec, Key, 1> In, Writable<Exec, Key, 1> Out>
    requires(!has_values)
  void operator()(Exec const& exec, In const& keys, Out const& sorted) {
    require_apart(sorted, keys);
    enqueue(exec, {contiguous(keys, n_), contiguous(sorted, n_), nullptr, nullptr});
  }

  /// The same with values, which move with their keys. All four arrays have n elements.
  template <Readable<Exec, Key, 1> In, Readable<Exec, Value, 1> ValuesIn, Writable<Exec, Key, 1> Out,
            Writable<Exec, Value, 1> ValuesOut>
    requires has_values
  void operator()(Exec const& exec, In const& keys, ValuesIn const& values, Out const& sorted,
                  ValuesOut const& sorted_values) {
    require_apart(sorted, keys, values);
    require_apart(sorted_values, keys, values, sorted);
    enqueue(exec,
            {contiguous(keys, n_), contiguous(sorted, n_), contiguous(values, n_), contiguous(sorted_values, n_)});
  }

  /// Returns the bytes that a call reads and writes, if caches keep nothing between launches.
  [[nodiscard]] double traffic() const {
    double const keys = static_cast<double>(n_) * sizeof(Key);
    double const values = static_cast<double>(n_) * value_bytes<Value>;
    if (is_small_) return 2 * (keys + values);
    int const digits = digits_.count();
    return (Passes::reads_of_keys(digits) + digits) * keys + 2 * digits * values;
  }
  [[nodiscard]] std::string note() const { return is_small_ ? "one team" : passes_.note(); }

 private:
  [[nodiscard]] bool needs_copy() const { return digits_.count() > 1 && !(is_small_ && Tuning::warps); }
  [[nodiscard]] std::size_t values_begin() const { return tiles_of(n_ * sizeof(Key), 16) * 16; }
  [[nodiscard]] Key* keys_copy() const { return reinterpret_cast<Key*>(copy_.data()); }
  [[nodiscard]] Value* values_copy() const {
    return needs_copy() ? reinterpret_cast<Value*>(copy_.data() + values_begin()) : nullptr;
  }

  void enqueue(Exec const& exec, Arrays const& arrays) {
    if (n_ == 0) return;
    if (is_small_) {
      small_(label_ + "::one_team", exec, 1, Small{arrays, keys_copy(), values_copy(), static_cast<int>(n_), digits_});
      return;
    }
    passes_.begin(exec, arrays.from);
    Arrays pass = arrays;
    int const count = digits_.count();
    for (int digit = 0; digit < count; ++digit) {
      // The last pass writes the result; before it, result and copy alternate.
      bool const to_result = (count - 1 - digit) % 2 == 0;
      pass.to = to_result ? arrays.to : keys_copy();
      pass.values_to = to_result ? arrays.values_to : values_copy();
      passes_.pass(exec, digit, digits_, pass);
      pass.from = pass.to;
      pass.values_from = pass.values_to;
    }
  }

  std::string label_;
  std::size_t n_;
  DigitsOfKeys<Key> digits_;
  bool is_small_;
  LargeScratchLaunch<Exec, Small> small_;
  Kokkos::View<char*, typename Exec::memory_space> copy_;  ///< keys, and then values
  Passes passes_;
};

}  // namespace detail

/// Sorts in three launches per digit, in which no team waits for another. Construct it once: allocates a copy of keys
/// and values. A call only enqueues; calls on one object must not run concurrently.
template <ExecutionSpace Exec, class Key, class Value = NoValue, class Tuning = SortTuning<Exec, Key, Value>>
using RadixSort = detail::DigitSort<Exec, Key, Value, Tuning, detail::ChunkedPasses<Exec, Key, Value, Tuning>>;

/// Sorts in one launch that counts, and one pass per digit: the least traffic. Otherwise as RadixSort.
template <ExecutionSpace Exec, class Key, class Value = NoValue, class Tuning = SortTuning<Exec, Key, Value>>
using OnesweepSort = detail::DigitSort<Exec, Key, Value, Tuning, detail::OnesweepPasses<Exec, Key, Value, Tuning>>;

/// Writes `keys` [n] in order to `sorted` [n]. Convenience for a single call: allocates, enqueues and waits.
template <ExecutionSpace Exec, class In, class Out>
void sort(Exec const& exec, In const& keys, Out const& sorted, SortOrder const& order = {}) {
  OnesweepSort<Exec, typename In::non_const_value_type> by_digits(exec, keys.extent(0), order);
  by_digits(exec, keys, sorted);
  exec.fence("tessera: sort");  // the kernel's memory is freed at the end of this call
}

/// As sort(); values [n] move with their keys.
template <ExecutionSpace Exec, class In, class ValuesIn, class Out, class ValuesOut>
void sort_pairs(Exec const& exec, In const& keys, ValuesIn const& values, Out const& sorted,
                ValuesOut const& sorted_values, SortOrder const& order = {}) {
  OnesweepSort<Exec, typename In::non_const_value_type, typename ValuesIn::non_const_value_type> by_digits(
      exec, keys.extent(0), order);
  by_digits(exec, keys, values, sorted, sorted_values);
  exec.fence("tessera: sort_pairs");
}

}  // namespace tessera::kernels
