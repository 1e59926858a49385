#pragma once
/// \file
/// A two-dimensional convolution in one launch: out[y, x] = sum of in[y + ky, x + kx] * k[ky, kx] over the terms inside
/// the input. Each lane computes a strip of neighbouring sums in registers: it walks down the rows of the input, loads
/// each row with 16-byte accesses, and adds it to every sum that needs it. Elements and rows shared with the lanes
/// beside and below come from the first-level cache. On GPUs, kernels of 5 x 5 and 7 x 7 taps are held in registers
/// completely, and each row of the input is loaded once.
///
/// Reads and writes each element once if a tile and its halo of Ky - 1 rows fit into the caches. On hosts, an output
/// that is larger than the last-level cache bypasses the caches.
///
/// Example, k = (1 10): in (1 2 3 | 4 5 6) -> (21 32 3 | 54 65 6).
///
/// Use:  conv2d(exec, in, k, out);
/// or, enqueued many times:  Conv2d<Exec, float> convolve(exec, rows, cols);  convolve(exec, in, k, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/prefetch.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// For GPUs: a lane computes one strip and loads packs into its registers.
template <class T>
struct GpuConv2dTuning {
  static constexpr int rows = 8;  ///< per strip: with a row of the input they fill 128 registers
  static constexpr int width = collective::pack_width<T>;  ///< columns per strip: one 16-byte access
  static constexpr int part = 4;  ///< taps held in registers, in each direction: a loaded row is used for all of them
  /// Handle 5 x 5 and 7 x 7 taps as one part, so that each row of the input is loaded once. 49 taps of 4 bytes fit into
  /// registers beside the sums.
  static constexpr bool whole_squares = sizeof(T) <= 4;
  static constexpr bool in_registers = true;    ///< load rows of the input into registers and unroll all loops
  static constexpr int lanes = 128;             ///< per team on a GPU, if the user gives no size
  static constexpr int down = 8;                ///< strips per tile, vertically: warps that share the rows in between
  static constexpr int across = 32;             ///< strips per tile, horizontally: a warp
  static constexpr int tiles_per_thread = 0;    ///< 0: keep the height of the tiles
  using Bounds = Kokkos::LaunchBounds<512, 1>;  ///< lets the compiler use 128 registers: at most 32 bytes spill
};

/// For AMD GPUs: with all 7 x 7 taps in registers, hipcc spills.
template <class T>
struct HipConv2dTuning : GpuConv2dTuning<T> {
  static constexpr bool whole_squares = false;
};

/// For hosts: a thread computes one strip, which the compiler vectorizes.
template <class T>
struct HostConv2dTuning : GpuConv2dTuning<T> {
  static constexpr int rows = 2;                                   ///< both use each loaded row
  static constexpr int width = static_cast<int>(512 / sizeof(T));  ///< fills the vector registers
  static constexpr bool whole_squares = false;  ///< a row's elements are in the first-level cache anyway
  static constexpr bool in_registers = false;   ///< the input comes from the first-level cache
  static constexpr int down = 128;              ///< the rows above are in the caches; few rows are read by two tiles
  static constexpr int across = 16;
  static constexpr int tiles_per_thread = 4;  ///< halve the height of tiles, down to 8 strips, until this many exist
};

template <ExecutionSpace Exec, class T>
using Conv2dTuning = std::conditional_t<is_hip<Exec>, HipConv2dTuning<T>,
                                        std::conditional_t<is_gpu<Exec>, GpuConv2dTuning<T>, HostConv2dTuning<T>>>;

/// The operands of a convolution, without the taps that lie outside the input for every output. A single column has the
/// memory layout of a single row and is treated as one, which is as fast.
///
/// Elements are accumulators: integers are unsigned and wrap.
template <class Sum>
struct Convolution {
  Sum const* in;
  Sum const* k;
  Sum* out;
  std::size_t rows;  // of in and out
  std::size_t cols;
  std::size_t tap_rows;  // at most rows
  std::size_t tap_cols;  // at most cols
  std::size_t tap_row_stride;
  std::size_t tap_col_stride;

  [[nodiscard]] KOKKOS_FUNCTION Sum tap(std::size_t ky, std::size_t kx) const {
    return k[ky * tap_row_stride + kx * tap_col_stride];
  }
};

/// The operands `in` [rows, cols], `k` [Ky, Kx] and `out` [rows, cols], contiguous and row-major. Throws
/// std::invalid_argument for other extents or strides.
template <class In, class K, class Out>
[[nodiscard]] auto convolution(In const& in, K const& k, Out const& out) {
  using Sum = collective::Accumulator<typename Out::non_const_value_type>;
  std::size_t const rows = in.extent(0);
  std::size_t const cols = in.extent(1);
  Convolution<Sum> result{.in = reinterpret_cast<Sum const*>(row_major(in, rows, cols)),
                          .k = reinterpret_cast<Sum const*>(row_major(k, k.extent(0), k.extent(1))),
                          .out = reinterpret_cast<Sum*>(row_major(out, rows, cols)),
                          .rows = rows,
                          .cols = cols,
                          .tap_rows = std::min<std::size_t>(rows, k.extent(0)),
                          .tap_cols = std::min<std::size_t>(cols, k.extent(1)),
                          .tap_row_stride = k.extent(1),
                          .tap_col_stride = 1};
  if (cols == 1) {
    std::swap(result.rows, result.cols);
    std::swap(result.tap_rows, result.tap_cols);
    std::swap(result.tap_row_stride, result.tap_col_stride);
  }
  return result;
}

namespace detail {

/// The sums of one lane, `rows` x `width` neighbours, in registers from the first tap to the store.
///
/// Each thread may call it independently. No scratch, no barriers.
///
/// \tparam Aligned every row of `in` and `out` is aligned for packs and consists of whole packs; only used if
/// in_registers
/// \tparam Side side of the square of taps that a lane holds from strip to strip; 0: any taps, in parts
template <class Sum, class Tuning, bool Aligned, int Side>
class Strip {
 public:
  static constexpr int rows = Tuning::rows;
  static constexpr int width = Tuning::width;
  static constexpr int part = Tuning::part;
  static_assert(1 <= part && part <= 4, "Tessera: a part of the taps is 1 to 4 in each direction");
  static_assert(!Tuning::in_registers || width == collective::pack_width<Sum>, "Tessera: a lane loads single packs");

  KOKKOS_FORCEINLINE_FUNCTION Strip() {
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < width; ++c) sums_[r][c] = 0;
    }
  }

  /// The taps that a lane holds.
  struct Held {
    Sum taps[Side == 0 ? 1 : Side][Side == 0 ? 1 : Side] = {};
    KOKKOS_FORCEINLINE_FUNCTION explicit Held(Convolution<Sum> const& of) {
      for (int i = 0; i < Side; ++i) {
        for (int j = 0; j < Side; ++j) taps[i][j] = of.tap(i, j);
      }
    }
  };

  /// Returns the number of columns that add() may read, starting at the strip's first column.
  [[nodiscard]] static std::size_t reach(std::size_t tap_cols) {
    if (Side > 0) return window_of(Side);
    if (tap_cols == 0) return 0;
    std::size_t const last = (tap_cols - 1) / part * part;
    return last + window_of(static_cast<int>(tap_cols - last));
  }

  /// Adds all terms of a strip that needs nothing beyond an edge. `from`: the first element of the strip in `in`; rows
  /// + tap_rows - 1 rows and reach() columns must exist from there on. Taps are processed in parts whose extents are
  /// compile-time constants.
  KOKKOS_FORCEINLINE_FUNCTION void add(Convolution<Sum> const& of, Sum const* from, Held const& held) {
    if constexpr (Side > 0) {
      add_rows(of, from, held.taps, LoadedRows<Side>{});
    } else {
      for (std::size_t ky = 0; ky < of.tap_rows; ky += part) {
        for (std::size_t kx = 0; kx < of.tap_cols; kx += part) {
          Sum const* const corner = from + ky * of.cols + kx;
          switch (thread::count_before(ky, of.tap_rows, part)) {
            case 1: add_part<1>(of, ky, kx, corner); break;
            case 2: add_part<2>(of, ky, kx, corner); break;
            case 3: add_part<3>(of, ky, kx, corner); break;
            default: add_part<part>(of, ky, kx, corner); break;
          }
        }
      }
    }
  }

  /// As add(), for a strip at the bottom or right edge: `row_count` rows and `col_count` columns of `in` exist from its
  /// first element on. Terms beyond are omitted, not multiplied by zero, since k may be infinite.
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

  /// Stores the first `row_count` x `col_count` sums to `to`, the first element of the strip in `out`. `streaming`:
  /// bypass a host's caches; rows of `out` must be aligned for packs and consist of whole packs.
  KOKKOS_FORCEINLINE_FUNCTION void store(Convolution<Sum> const& of, Sum* to, int row_count, int col_count,
                                         bool streaming) const {
    for (int r = 0; r < rows; ++r) {
      if (r < row_count) store_row(sums_[r], to + r * of.cols, col_count, streaming);
    }
  }

 private:
  static constexpr int pack = collective::pack_width<Sum>;
  // Row numbers as constants: sums that are indexed at run time do not stay in registers.
  using AllRows = std::make_integer_sequence<int, rows>;
  template <int TapRows>
  using LoadedRows = std::make_integer_sequence<int, rows + TapRows - 1>;

  // Columns of a row that `tap_cols` taps of a part need, rounded up to whole packs if packs are loaded.
  [[nodiscard]] KOKKOS_FUNCTION static constexpr int window_of(int tap_cols) {
    int const needed = width + tap_cols - 1;
    return Tuning::in_registers && Aligned ? (needed + width - 1) / width * width : needed;
  }

  // The loaded part of a row, or a pointer to the row that the sums read from.
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
  using Window = std::conditional_t<Tuning::in_registers, Loaded<Size>, Sum const*>;

  template <int TapRows>
  KOKKOS_FORCEINLINE_FUNCTION void add_part(Convolution<Sum> const& of, std::size_t ky, std::size_t kx,
                                            Sum const* corner) {
    switch (thread::count_before(kx, of.tap_cols, part)) {
      case 1: add_taps<TapRows, 1>(of, ky, kx, corner); break;
      case 2: add_taps<TapRows, 2>(of, ky, kx, corner); break;
      case 3: add_taps<TapRows, 3>(of, ky, kx, corner); break;
      default: add_taps<TapRows, part>(of, ky, kx, corner); break;
    }
  }

  // Walks down the rows of the input: each row is loaded once and added to every sum that needs it.
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
    if constexpr (Tuning::in_registers) {
      for (int c = 0; c < width; ++c) {
        if (c < col_count) sums[c] += from[c] * tap;
      }
    } else {
      for (int c = 0; c < col_count; ++c) sums[c] += from[c] * tap;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void store_row(Sum const (&sums)[width], Sum* to, int col_count, bool streaming) {
    if constexpr (!Tuning::in_registers) {
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

  // The remaining columns are whole packs, too.
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

template <ExecutionSpace Exec, class Sum, class Tuning, bool Aligned, int Side>
struct Conv2dKernel {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::Bounds>;
  using Member = typename Policy::member_type;
  using Sums = Strip<Sum, Tuning, Aligned, Side>;

  Convolution<Sum> of;
  collective::MatrixTiles tiles;
  std::size_t reach;
  bool streaming;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto const place = tiles.place(team.league_rank());
    if constexpr (Side > 0) ask(team, place);
    typename Sums::Held const held(of);
    int const across = tiles.tile_cols / Sums::width;  // a power of two
    int const bits = Kokkos::countr_zero(static_cast<unsigned>(across));
    int const strips = across * (tiles.tile_rows / Sums::rows);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, strips), [&](int i) {
      int const row = (i >> bits) * Sums::rows;
      int const col = (i & (across - 1)) * Sums::width;
      if (row >= place.row_count || col >= place.col_count) return;
      std::size_t const y = place.row + row;
      std::size_t const x = place.col + col;
      Sum const* const from = of.in + y * of.cols + x;
      Sums sums;
      if (y + Sums::rows + of.tap_rows - 1 <= of.rows && x + reach <= of.cols) {
        sums.add(of, from, held);
      } else {
        sums.add_at_edge(of, from, of.rows - y, of.cols - x);
      }
      sums.store(of, of.out + y * of.cols + x, place.row_count - row, place.col_count - col, streaming);
    });
    if (streaming) collective::streaming_fence();
  }

 private:
  // Prefetches the tile and the rows below it: sums and taps leave a lane enough registers for only one or two rows of
  // the input in flight.
  KOKKOS_FUNCTION void ask(Member const& team, collective::MatrixTiles::Place const& place) const {
    int const lines = (place.col_count * static_cast<int>(sizeof(Sum)) + 127) / 128;  // per row: one lane each
    int const rows = thread::count_before(place.row, of.rows, place.row_count + Side - 1);
    Sum const* const first = of.in + place.row * of.cols + place.col;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, rows * lines), [&](int i) {
      collective::prefetch(first + i / lines * of.cols, place.col_count, i % lines, lines);
    });
  }
};

}  // namespace detail

/// out[y, x] = sum over ky, kx of in[y + ky, x + kx] * k[ky, kx]. Terms beyond the bottom and right edge are omitted,
/// not multiplied by zero, since `k` may be infinite. Integers wrap.
///
/// Construct it once for the extents of `in`: chooses tiles and teams. Calls share no memory and may run concurrently.
template <ExecutionSpace Exec, class T, class Tuning = Conv2dTuning<Exec, T>>
class Conv2d {
  using Sum = collective::Accumulator<T>;

 public:
  /// \param rows,cols extents of `in` and `out`
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  Conv2d(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team = 0,
         std::string const& label = "tessera::conv2d")
      : label_(label + "::sum"),
        rows_(rows),
        cols_(cols),
        threads_(team_size(exec, is_gpu<Exec> && team == 0 ? Tuning::lanes : team)) {
    if (cols == 1) std::swap(rows, cols);  // as in `convolution`
    std::size_t const strip_rows = tiles_of(rows, Tuning::rows);
    std::size_t const strip_cols = tiles_of(cols, Tuning::width);
    int down = Tuning::down;
    std::size_t const wanted = Tuning::tiles_per_thread * static_cast<std::size_t>(exec.concurrency());
    while (down > 8 && tiles_of(strip_rows, down) * tiles_of(strip_cols, Tuning::across) < wanted) down /= 2;
    auto const strips = collective::fitted_tiles(strip_rows, strip_cols, down, Tuning::across);
    tiles_ = {.rows = rows,
              .cols = cols,
              .tile_rows = strips.tile_rows * Tuning::rows,
              .tile_cols = strips.tile_cols * Tuning::width};
    league_ = league_of(tiles_.count());
  }

  /// Enqueues. `in` and `out` [rows, cols] must not overlap; `k` may have any extents. All must be contiguous and
  /// row-major. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> In, Readable<Exec, T, 2> K, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, In const& in, K const& k, Out const& out) const {
    require_apart(out, in, k);
    (void)row_major(in, rows_, cols_);
    auto const of = convolution(in, k, out);
    if (league_ == 0) return;
    constexpr int pack = collective::pack_width<Sum>;
    bool const aligned = of.cols % pack == 0 && collective::is_aligned_for_packs<pack>(of.in, of.out);
    if constexpr (Tuning::in_registers) {
      aligned ? enqueue<true>(exec, of) : enqueue<false>(exec, of);
    } else {
      launch<false, 0>(exec, of, aligned && collective::streams<Exec>(of.rows * of.cols * sizeof(Sum)));
    }
  }

 private:
  template <bool Aligned>
  void enqueue(Exec const& exec, Convolution<Sum> const& of) const {
    if constexpr (Tuning::whole_squares) {
      if (of.tap_rows == 5 && of.tap_cols == 5) return launch<Aligned, 5>(exec, of, false);
      if (of.tap_rows == 7 && of.tap_cols == 7) return launch<Aligned, 7>(exec, of, false);
    }
    launch<Aligned, 0>(exec, of, false);
  }

  template <bool Aligned, int Side>
  void launch(Exec const& exec, Convolution<Sum> const& of, bool streaming) const {
    using Kernel = detail::Conv2dKernel<Exec, Sum, Tuning, Aligned, Side>;
    Kernel const kernel{.of = of, .tiles = tiles_, .reach = Kernel::Sums::reach(of.tap_cols), .streaming = streaming};
    Kokkos::parallel_for(label_, typename Kernel::Policy(exec, league_, threads_), kernel);
  }

  std::string label_;
  std::size_t rows_;
  std::size_t cols_;
  int threads_;
  collective::MatrixTiles tiles_;
  int league_ = 0;
};

/// out[y, x] = sum over ky, kx of in[y + ky, x + kx] * k[ky, kx] without the terms beyond the edges. `in`, `out` [rows,
/// cols], `k` [Ky, Kx]. Convenience for a single call: enqueues and waits.
template <ExecutionSpace Exec, class In, class K, class Out>
void conv2d(Exec const& exec, In const& in, K const& k, Out const& out) {
  Conv2d<Exec, typename Out::non_const_value_type> const kernel(exec, in.extent(0), in.extent(1));
  kernel(exec, in, k, out);
  exec.fence("tessera: conv2d");
}

}  // namespace tessera::kernels
