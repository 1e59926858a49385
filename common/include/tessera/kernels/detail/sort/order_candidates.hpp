#pragma once
/// \file
/// Sorts candidates within their rows, the largest first, and writes the first k of each row.
///
/// Two stable sorts by kernels/sort.hpp: all candidates by their words; then, if there are several rows, by row. The
/// time hardly depends on the lengths of the rows. Equal candidates keep their order.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <tessera/collective/key_order.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/sort.hpp>

namespace tessera::kernels::detail {

template <ExecutionSpace Exec, class T>
class OrderCandidates {
  using Word = collective::KeyWord<T>;
  template <class E>
  using Array = Kokkos::View<E*, typename Exec::memory_space>;

 public:
  /// \param rows, n shape of the array that candidates come from; both above 0
  /// \param candidates per row, at least 1. Throws Skip above 2^32 - 1 rows.
  OrderCandidates(Exec const& exec, std::size_t rows, std::size_t n, std::size_t candidates, std::string const& label)
      : label_(label),
        rows_(rows),
        n_(n),
        candidates_(candidates),
        words_(unset(label + "::words"), rows * candidates),
        places_(unset(label + "::places"), rows * candidates),
        sorted_words_(unset(label + "::sorted_words"), rows * candidates),
        sorted_places_(unset(label + "::sorted_places"), rows * candidates),
        row_of_(unset(label + "::rows"), rows > 1 ? rows * candidates : 0),
        sorted_rows_(unset(label + "::sorted_rows"), rows > 1 ? rows * candidates : 0),
        by_word_(exec, rows * candidates, {.descending = true}, label + "::by_word"),
        by_row_(exec, rows > 1 ? rows * candidates : 0, {.end_bit = bits_of(rows)}, label + "::by_row") {}

  /// Candidates, to be written before the call: `words` (collective::ascending_word) and `places` in the flat array,
  /// each [rows * candidates]. Candidates of one row are neighbours, in the order of their indices if equal.
  [[nodiscard]] Word* words() const { return words_.data(); }
  [[nodiscard]] std::int64_t* places() const { return places_.data(); }

  /// Enqueues. Writes `values` and `indices` [rows, k].
  void operator()(Exec const& exec, T const* in, std::size_t k, T* values, std::int64_t* indices) {
    by_word_(exec, words_, places_, sorted_words_, sorted_places_);
    auto place = sorted_places_;
    std::size_t const n = n_;
    if (rows_ > 1) {
      auto const row_of = row_of_;
      Kokkos::parallel_for(
          label_ + "::rows", over(exec, row_of.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
            row_of(i) = static_cast<std::uint32_t>(static_cast<std::size_t>(place(i)) / n);
          });
      by_row_(exec, row_of_, sorted_places_, sorted_rows_, places_);
      place = places_;
    }
    std::size_t const candidates = candidates_;
    Kokkos::parallel_for(
        label_ + "::gather", over(exec, rows_ * k), KOKKOS_LAMBDA(std::size_t i) {
          std::int64_t const from = place(i / k * candidates + i % k);
          values[i] = in[from];
          indices[i] = static_cast<std::int64_t>(static_cast<std::size_t>(from) % n);
        });
  }

 private:
  /// Returns the bits of row numbers, at least 1.
  [[nodiscard]] static int bits_of(std::size_t rows) {
    if (rows > std::numeric_limits<std::uint32_t>::max()) {
      throw Skip(std::to_string(rows) + " rows (their numbers are kept in 32 bits)");
    }
    return std::max(1, static_cast<int>(std::bit_width(rows - 1)));
  }

  std::string label_;
  std::size_t rows_;
  std::size_t n_;
  std::size_t candidates_;
  Array<Word> words_;
  Array<std::int64_t> places_;
  Array<Word> sorted_words_;
  Array<std::int64_t> sorted_places_;
  Array<std::uint32_t> row_of_;
  Array<std::uint32_t> sorted_rows_;
  OnesweepSort<Exec, Word, std::int64_t> by_word_;
  OnesweepSort<Exec, std::uint32_t, std::int64_t> by_row_;
};

}  // namespace tessera::kernels::detail
