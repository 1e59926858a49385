#pragma once
/// \file
/// The sum of a row and a column as a matrix, in one launch: out[r, c] = a[c] + b[r]. A thread handles one piece of a
/// row at a time: it holds the row's element of b in a register and adds it to elements of a, which its lanes read in
/// 16-byte packs. A team's tile is several short rows or a part of a long one, so that every shape fills the teams. A
/// row may start at any alignment: elements before the first and after the last whole pack of the output are written
/// one by one.
///
/// Writes each element once; after the first access, a and b come from the caches. On hosts, an output that is larger
/// than the last-level cache bypasses the caches.
///
/// Example: a = (1 2 3), b = (10 20) -> (11 12 13 | 21 22 23).
///
/// Use:  broadcast_add(exec, a, b, out);
/// or, enqueued many times:  BroadcastAdd<Exec, float> add(exec, rows, cols);  add(exec, a, b, out);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// How BroadcastAdd splits rows.
template <ExecutionSpace Exec, class T>
struct BroadcastAddTuning {
  static constexpr int pack = collective::pack_width<T>;  ///< elements: 16 bytes, the widest access there is
  /// Columns per piece: two packs per lane on a GPU; on a host, enough to make the overhead of a row small.
  static constexpr int piece = is_gpu<Exec> ? 2 * 32 * pack : 2048;
  /// Elements per team: two pieces per thread on a GPU; on a host, enough to amortize the start of a team.
  static constexpr int tile = is_gpu<Exec> ? 16 * piece : 4 * piece;
};

namespace detail {

template <ExecutionSpace Exec, class T, class Tuning>
struct BroadcastAddKernel {
  static constexpr int width = Tuning::pack;
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Add = collective::Sum<T>;  // integers wrap

  T const* along;  // [cols]
  T const* down;   // [rows]
  T* out;
  collective::MatrixTiles tiles;
  bool streams;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto const place = tiles.place(team.league_rank());
    for_each_row_piece(team, place, Tuning::piece, [&](std::size_t row, std::size_t col, int count) {
      T const of_row = down[row];
      bool const past_caches = streams;
      T const* const from = along + col;
      T* const to = out + row * tiles.cols + col;
      int const past = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(T) % width);
      // Elements before the first whole pack. A piece may end before that pack; then it has no whole pack.
      int const before = (width - past) % width;
      int const packs = count > before ? (count - before) / width : 0;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, packs), [&](int p) {
        int const i = before + p * width;
        auto values = collective::load_pack<width>(from + i);
        for (int e = 0; e < width; ++e) values[e] = Add{}(values[e], of_row);
        if (past_caches) {
          collective::streaming_store(to + i, values);
        } else {
          collective::pack_at<width>(to + i) = values;
        }
      });
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, count - packs * width), [&](int k) {
        int const i = k < before ? k : k + packs * width;
        to[i] = Add{}(from[i], of_row);
      });
      if (past_caches) collective::streaming_fence();
    });
  }
};

}  // namespace detail

/// out[r, c] = a[c] + b[r]; integers wrap.
///
/// Construct it once for the extents of `out`: chooses tiles, lanes and teams. Calls share no memory and may run
/// concurrently.
template <ExecutionSpace Exec, class T, class Tuning = BroadcastAddTuning<Exec, T>>
class BroadcastAdd {
  using Kernel = detail::BroadcastAddKernel<Exec, T, Tuning>;

 public:
  /// \param rows,cols extents of `out`
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  BroadcastAdd(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team = 0,
               std::string const& label = "tessera::broadcast_add")
      : label_(label + "::add"),
        rows_(rows),
        cols_(cols),
        // A single column has the memory layout of a single row: with a and b exchanged it is as fast.
        tiles_(cols == 1 ? row_tiles(1, rows, Tuning::tile) : row_tiles(rows, cols, Tuning::tile)),
        lanes_(lanes_for<Exec>(tiles_.cols / Kernel::width)),
        threads_(team_size(exec, team, lanes_)),
        league_(league_of(tiles_.count())) {}

  /// Enqueues. `a` [cols], `b` [rows], `out` [rows, cols] must be contiguous and row-major; `out` must not overlap the
  /// others. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 1> A, Readable<Exec, T, 1> B, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, A const& a, B const& b, Out const& out) const {
    require_apart(out, a, b);
    T const* along = contiguous(a, cols_);
    T const* down = contiguous(b, rows_);
    if (cols_ == 1) std::swap(along, down);
    Kokkos::parallel_for(label_, typename Kernel::Policy(exec, league_, threads_, lanes_),
                         Kernel{.along = along,
                                .down = down,
                                .out = row_major(out, rows_, cols_),
                                .tiles = tiles_,
                                .streams = collective::streams<Exec>(out.size() * sizeof(T))});
  }

 private:
  std::string label_;
  std::size_t rows_;
  std::size_t cols_;
  collective::MatrixTiles tiles_;
  int lanes_;
  int threads_;
  int league_;
};

/// out[r, c] = a[c] + b[r]. `a` [cols], `b` [rows], `out` [rows, cols]. Convenience for a single call:
/// enqueues and waits.
template <ExecutionSpace Exec, class A, class B, class Out>
void broadcast_add(Exec const& exec, A const& a, B const& b, Out const& out) {
  BroadcastAdd<Exec, typename Out::non_const_value_type> const kernel(exec, out.extent(0), out.extent(1));
  kernel(exec, a, b, out);
  exec.fence("tessera: broadcast_add");
}

}  // namespace tessera::kernels
