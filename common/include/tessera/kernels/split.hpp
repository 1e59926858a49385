#pragma once
/// \file
/// A stable split of n items into up to 256 bins: the items of bin 0 first, then those of bin 1, and so on, each bin in
/// the items' order. Values may move with the items. The begins of the bins are a result.
///
/// One launch counts the bins. In the next launch each team orders one tile, learns from its predecessors how many
/// items of each bin are before the tile (decoupled look-back, collective/bin_look_back.hpp), and writes each bin as
/// one run. 3n traffic, of which two thirds are reads.
/// Source: Ashkiani, Davidson, Meyer and Owens, GPU Multisplit (PPoPP 2016); Adinets and Merrill, Onesweep
/// (arXiv:2206.01784).
///
/// Example, bins by the remainder modulo 3: 5 3 4 9 1 -> 3 9 | 4 1 | 5, offsets 0 2 4 5.
///
/// Use:  split_bins(exec, in, out, offsets, BinOfItem{});
/// or, enqueued many times:  BinSplit<Exec, float, BinOfItem> split(exec, n, bins);  split(exec, in, out, offsets);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/sort/bin_tuning.hpp>
#include <tessera/kernels/detail/sort/look_back_bins.hpp>

namespace tessera::kernels {

/// Tuning parameters of BinSplit.
template <ExecutionSpace Exec, class T, class Value = NoValue>
using SplitTuning = BinTuning<Exec, T, Value>;

/// The stable split into bins. Construct it once: chooses tiles and allocates the counts of the tiles. A call only
/// enqueues; calls on one object must not run concurrently.
///
/// T, Value: trivially copyable. BinOf: `int operator()(T const&) const` in device code, from 0 to bins - 1. It is
/// called several times per item and must always return the same bin. Any other bin is undefined behaviour. It is also
/// called for T{}, whose bin is not used.
template <ExecutionSpace Exec, class T, class BinOf, class Value = NoValue, class Tuning = SplitTuning<Exec, T, Value>>
class BinSplit {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_copyable_v<Value>,
                "Tessera: items and values are copied byte by byte");
  static constexpr bool has_values = value_bytes<Value> > 0;
  using Codes = detail::BinCodes<T, BinOf>;

 public:
  /// \param n items of each array
  /// \param bins 1 to 256; throws std::invalid_argument otherwise
  /// \param label kernel name that Kokkos Tools reports
  explicit BinSplit(Exec const& exec, std::size_t n, int bins, BinOf const& bin_of = {},
                    std::string const& label = "tessera::bin_split")
      : n_(n), bins_(checked(bins)), bin_of_(bin_of), passes_(exec, n, 1, label) {}

  /// Enqueues. `in`, `out` [n]: contiguous, apart. `offsets` [bins + 1]: bin b is out[offsets(b)] to
  /// out[offsets(b + 1) - 1]. Throws std::invalid_argument if an array has another length or is strided.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Out, Writable<Exec, std::int64_t, 1> Offsets>
    requires(!has_values)
  void operator()(Exec const& exec, In const& in, Out const& out, Offsets const& offsets) {
    require_apart(out, in);
    enqueue(exec, {contiguous(in, n_), contiguous(out, n_), nullptr, nullptr}, offsets);
  }

  /// The same with values [n], which move with their items.
  template <Readable<Exec, T, 1> In, Readable<Exec, Value, 1> ValuesIn, Writable<Exec, T, 1> Out,
            Writable<Exec, Value, 1> ValuesOut, Writable<Exec, std::int64_t, 1> Offsets>
    requires has_values
  void operator()(Exec const& exec, In const& in, ValuesIn const& values, Out const& out, ValuesOut const& values_out,
                  Offsets const& offsets) {
    require_apart(out, in, values);
    require_apart(values_out, in, values, out);
    enqueue(exec, {contiguous(in, n_), contiguous(out, n_), contiguous(values, n_), contiguous(values_out, n_)},
            offsets);
  }

  [[nodiscard]] std::string note() const { return passes_.note(); }

 private:
  [[nodiscard]] static int checked(int bins) {
    if (bins >= 1 && bins <= detail::bin_count) return bins;
    throw std::invalid_argument(std::to_string(bins) + " bins (a split has 1 to " + std::to_string(detail::bin_count) +
                                "); choose a number in this range");
  }
  template <class Offsets>
  void enqueue(Exec const& exec, detail::MovedArrays<T, Value> const& arrays, Offsets const& offsets) {
    std::int64_t* const begins = contiguous(offsets, static_cast<std::size_t>(bins_) + 1);
    passes_.count(exec, arrays.from, Codes{bin_of_}, begins, bins_);
    passes_.pass(exec, 0, bin_of_, arrays);
  }

  std::size_t n_;
  int bins_;
  BinOf bin_of_;
  detail::LookBackBins<Exec, T, Value, BinOf, Codes, Tuning> passes_;
};

/// Splits `in` [n] into `offsets.extent(0) - 1` bins. Convenience for a single call: allocates, enqueues and waits.
template <ExecutionSpace Exec, class In, class Out, class Offsets, class BinOf>
void split_bins(Exec const& exec, In const& in, Out const& out, Offsets const& offsets, BinOf const& bin_of) {
  BinSplit<Exec, typename In::non_const_value_type, BinOf> by_bins(exec, in.extent(0),
                                                                   static_cast<int>(offsets.extent(0)) - 1, bin_of);
  by_bins(exec, in, out, offsets);
  exec.fence("tessera: split_bins");  // the kernel's memory is freed at the end of this call
}

/// As split_bins(); values [n] move with their items.
template <ExecutionSpace Exec, class In, class ValuesIn, class Out, class ValuesOut, class Offsets, class BinOf>
void split_pairs(Exec const& exec, In const& in, ValuesIn const& values, Out const& out, ValuesOut const& values_out,
                 Offsets const& offsets, BinOf const& bin_of) {
  BinSplit<Exec, typename In::non_const_value_type, BinOf, typename ValuesIn::non_const_value_type> by_bins(
      exec, in.extent(0), static_cast<int>(offsets.extent(0)) - 1, bin_of);
  by_bins(exec, in, values, out, values_out, offsets);
  exec.fence("tessera: split_pairs");
}

}  // namespace tessera::kernels
