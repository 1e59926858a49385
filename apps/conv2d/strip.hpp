#pragma once
/// \file
/// The sums of one lane of register_tile: a strip of neighbouring columns and a few rows, in registers from the first
/// tap to the store.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "convolution.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::conv2d {

/// `rows` x `width` sums. On a GPU a pack of columns and as many rows as the registers hold; on a host as many columns of
/// two rows, which share what is loaded, as its vector registers hold: the compiler makes vectors of them.
///
/// Who calls: any thread for itself. Scratch, barriers: none.
///
/// \tparam Aligned every row of `in` and `out` begins with a whole pack, and is whole packs; a host does not ask
template <ExecutionSpace Exec, class Sum, bool Aligned>
class Strip {
 public:
  static constexpr int rows = is_gpu<Exec> ? 8 : 2;
  static constexpr int width = is_gpu<Exec> ? collective::pack_width<Sum> : static_cast<int>(512 / sizeof(Sum));
  /// Taps that are added at a time, in each direction: so many lie in registers, and every element of the input that was
  /// loaded is used for all of them.
  static constexpr int part = 4;

  KOKKOS_FORCEINLINE_FUNCTION Strip() {
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < width; ++c) sums_[r][c] = 0;
    }
  }

  /// Columns that add() may read from the strip's first on.
  [[nodiscard]] static std::size_t reach(std::size_t tap_cols) {
    if (tap_cols == 0) return 0;
    std::size_t const last = (tap_cols - 1) / part * part;
    return last + window_of(static_cast<int>(tap_cols - last));
  }

  /// Adds all terms, where none lies beyond an edge: `from` is the element of `in` where the strip begins, with
  /// `rows` + tap_rows - 1 rows and reach() columns from there on.
  KOKKOS_FORCEINLINE_FUNCTION void add(Convolution<Sum> const& of, Sum const* from) {
    for (std::size_t ky = 0; ky < of.tap_rows; ky += part) {
      for (std::size_t kx = 0; kx < of.tap_cols; kx += part) {
        Sum const* const corner = from + ky * of.cols + kx;
        switch (thread::count_before(ky, of.tap_rows, part)) {
          case 1: add_part<1>(of, ky, kx, corner); break;
          case 2: add_part<2>(of, ky, kx, corner); break;
          case 3: add_part<3>(of, ky, kx, corner); break;
          default: add_part<4>(of, ky, kx, corner); break;
        }
      }
    }
  }

  /// The same for a strip at the bottom or right edge: `row_count` rows and `col_count` columns of `in` are left from
  /// where it begins. Terms beyond are left out rather than multiplied by zero: k may be infinite.
  KOKKOS_FORCEINLINE_FUNCTION void add_at_edge(Convolution<Sum> const& of, Sum const* from, std::size_t row_count,
                                               std::size_t col_count) {
    for (std::size_t ky = 0; ky < of.tap_rows; ++ky) {
      int const rows_here = thread::count_before(ky, row_count, rows);
      for (std::size_t kx = 0; kx < of.tap_cols; ++kx) {
        int const cols_here = thread::count_before(kx, col_count, width);
        Sum const tap = of.tap(ky, kx);
        add_tap(of, from + ky * of.cols + kx, tap, rows_here, cols_here, AllRows{});
      }
    }
  }

  /// Stores the first `row_count` x `col_count` sums to `to`, where the strip begins in `out`. `streaming`: past a host's
  /// caches, where every row of `out` begins with a whole pack, and is whole packs.
  KOKKOS_FORCEINLINE_FUNCTION void store(Convolution<Sum> const& of, Sum* to, int row_count, int col_count,
                                         bool streaming) const {
    for (int r = 0; r < rows; ++r) {
      if (r < row_count) store_row(sums_[r], to + r * of.cols, col_count, streaming);
    }
  }

 private:
  static constexpr int pack = collective::pack_width<Sum>;
  // Rows by number, for the compiler: sums whose place is only known at run time do not stay in registers.
  using AllRows = std::make_integer_sequence<int, rows>;
  template <int TapRows>
  using LoadedRows = std::make_integer_sequence<int, rows + TapRows - 1>;

  // Columns of a row that `tap_cols` taps of a part need: on a GPU whole packs, if these are what it loads.
  [[nodiscard]] KOKKOS_FUNCTION static constexpr int window_of(int tap_cols) {
    int const needed = width + tap_cols - 1;
    return is_gpu<Exec> && Aligned ? (needed + width - 1) / width * width : needed;
  }

  // What is loaded of a row. A host's sums take it from the first cache where they need it.
  template <int Size>
  struct Loaded {
    Sum at[Size];
    KOKKOS_FORCEINLINE_FUNCTION explicit Loaded(Sum const* row) {
      if constexpr (Aligned) {
        for (int first = 0; first < Size; first += width) {
          collective::Pack<Sum, width> const pack = collective::pack_at<width>(row + first);
          for (int e = 0; e < width; ++e) at[first + e] = pack[e];
        }
      } else {
        for (int e = 0; e < Size; ++e) at[e] = row[e];
      }
    }
    KOKKOS_FORCEINLINE_FUNCTION Sum operator[](int i) const { return at[i]; }
  };
  template <int Size>
  using Window = std::conditional_t<is_gpu<Exec>, Loaded<Size>, Sum const*>;

  template <int TapRows>
  KOKKOS_FORCEINLINE_FUNCTION void add_part(Convolution<Sum> const& of, std::size_t ky, std::size_t kx,
                                            Sum const* corner) {
    switch (thread::count_before(kx, of.tap_cols, part)) {
      case 1: add_taps<TapRows, 1>(of, ky, kx, corner); break;
      case 2: add_taps<TapRows, 2>(of, ky, kx, corner); break;
      case 3: add_taps<TapRows, 3>(of, ky, kx, corner); break;
      default: add_taps<TapRows, 4>(of, ky, kx, corner); break;
    }
  }

  // Down the rows of the input: each is loaded once, and added to all sums that it is part of.
  template <int TapRows, int TapCols>
  KOKKOS_FORCEINLINE_FUNCTION void add_taps(Convolution<Sum> const& of, std::size_t ky, std::size_t kx,
                                            Sum const* corner) {
    Sum taps[TapRows][TapCols];
    for (int i = 0; i < TapRows; ++i) {
      for (int j = 0; j < TapCols; ++j) taps[i][j] = of.tap(ky + i, kx + j);
    }
    add_rows(of, corner, taps, LoadedRows<TapRows>{});
  }

  template <int TapRows, int TapCols, int... Row>
  KOKKOS_FORCEINLINE_FUNCTION void add_rows(Convolution<Sum> const& of, Sum const* corner,
                                            Sum const (&taps)[TapRows][TapCols], std::integer_sequence<int, Row...>) {
    (add_row<Row>(corner + Row * of.cols, taps), ...);
  }

  template <int Row, int TapRows, int TapCols>
  KOKKOS_FORCEINLINE_FUNCTION void add_row(Sum const* from, Sum const (&taps)[TapRows][TapCols]) {
    Window<window_of(TapCols)> const window(from);
    for (int i = 0; i < TapRows; ++i) {
      int const r = Row - i;
      if (r < 0 || r >= rows) continue;
      for (int j = 0; j < TapCols; ++j) {
        for (int c = 0; c < width; ++c) sums_[r][c] += window[c + j] * taps[i][j];
      }
    }
  }

  template <int... Row>
  KOKKOS_FORCEINLINE_FUNCTION void add_tap(Convolution<Sum> const& of, Sum const* from, Sum tap, int row_count,
                                           int col_count, std::integer_sequence<int, Row...>) {
    (add_tap_to_row(sums_[Row], from + Row * of.cols, tap, Row < row_count ? col_count : 0), ...);
  }

  KOKKOS_FORCEINLINE_FUNCTION static void add_tap_to_row(Sum (&sums)[width], Sum const* from, Sum tap, int col_count) {
    if constexpr (is_gpu<Exec>) {
      for (int c = 0; c < width; ++c) {
        if (c < col_count) sums[c] += from[c] * tap;
      }
    } else {
      for (int c = 0; c < col_count; ++c) sums[c] += from[c] * tap;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void store_row(Sum const (&sums)[width], Sum* to, int col_count, bool streaming) {
    if constexpr (!is_gpu<Exec>) {
      if (streaming) {
        store_packs(sums, to, col_count, true);
      } else {
        int const count = col_count < width ? col_count : width;
        for (int c = 0; c < count; ++c) to[c] = sums[c];
      }
    } else if constexpr (Aligned) {
      store_packs(sums, to, col_count, false);
    } else {
      for (int c = 0; c < width; ++c) {
        if (c < col_count) to[c] = sums[c];
      }
    }
  }

  // The columns that are left are whole packs, too.
  KOKKOS_FORCEINLINE_FUNCTION static void store_packs(Sum const (&sums)[width], Sum* to, int col_count,
                                                      bool streaming) {
    for (int first = 0; first < width; first += pack) {
      collective::Pack<Sum, pack> values;
      for (int e = 0; e < pack; ++e) values[e] = sums[first + e];
      if (first >= col_count) continue;
      if (streaming) {
        collective::streaming_store(to + first, values);
      } else {
        collective::pack_at<pack>(to + first) = values;
      }
    }
  }

  Sum sums_[rows][width];
};

}  // namespace tessera::conv2d
