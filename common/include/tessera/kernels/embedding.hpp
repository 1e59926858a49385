#pragma once
/// \file
/// Table lookup in one launch: out[i, :] = table[index[i], :], or zeros if the table has no such row. A few lanes share
/// a row, one per pack of the row. Each lane reads the row's index and copies packs with 16-byte accesses. Rows are
/// short and lie anywhere in the table, so each lane keeps several packs in flight. Rows that are not a whole number of
/// packs are copied element by element, neighbouring lanes copying neighbouring elements.
///
/// Reads each index and each requested row, and writes as much. On hosts, an output that is larger than the last-level
/// cache bypasses the caches.
///
/// Example, rows of 2: indices 1 -1 0, table (1 2) (3 4) -> (3 4) (0 0) (1 2).
///
/// Use:  embedding(exec, indices, table, out);
/// or, enqueued many times:  Embedding<Exec, float> look_up(exec, n, table);  look_up(exec, indices, table, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <tessera/collective/pack.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Packs in flight per lane of Embedding, and the number of teams.
template <ExecutionSpace Exec, class T>
struct EmbeddingTuning {
  static constexpr int pack = collective::pack_width<T>;  ///< elements: 16 bytes, the widest access there is
  /// Packs in flight per lane, a power of two. They belong to one row if it is long enough, because a row is
  /// contiguous. Hosts copy one pack after the other: their hardware prefetchers follow a row.
  static constexpr int in_flight = is_gpu<Exec> ? 8 : 1;
  /// True: one team per tile of rows, up to the largest league. False: as many teams as fill the machine.
  static constexpr bool team_per_tile = is_gpu<Exec>;
};

namespace detail {

/// A thread handles `Rows` rows at a time; its lanes copy them in packs of N, with `Parts` packs of each row in flight.
/// If N is above 1, table and output must be aligned for such packs, and rows must be whole packs.
template <class Exec, class T, int N, int Rows, int Parts>
struct EmbeddingKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Pack = collective::Pack<T, N>;

  std::int32_t const* indices;
  T const* table;
  T* out;
  std::size_t rows;   // of the table
  std::size_t width;  // elements of a row
  Chunks chunks;      // of positions
  bool streaming;     // the output bypasses a host's caches

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto const threads = static_cast<std::size_t>(team.team_size());
    std::size_t const end = chunks.end(team.league_rank());
    for (std::size_t first = chunks.begin(team.league_rank()) + team.team_rank(); first < end;
         first += threads * Rows) {
      // This thread's rows are first, first + threads, ..., so that the accesses of a warp are adjacent. A null pointer
      // means a row of zeros.
      T const* from[Rows];
      T* to[Rows];
      for (int k = 0; k < Rows; ++k) {
        std::size_t const position = first + k * threads;
        from[k] = position < end ? row_of(position) : nullptr;
        to[k] = position < end ? out + position * width : nullptr;
      }
      auto const packs = static_cast<std::int32_t>(width / N);
      std::int32_t const apart = (packs + Parts - 1) / Parts;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, apart), [&](std::int32_t pack) {
        Pack values[Rows][Parts];
        for (int k = 0; k < Rows; ++k) {
          for (int p = 0; p < Parts; ++p) {
            std::size_t const at = static_cast<std::size_t>(pack + p * apart) * N;
            values[k][p] =
                from[k] != nullptr && pack + p * apart < packs ? collective::pack_at<N>(from[k] + at) : Pack{};
          }
        }
        for (int k = 0; k < Rows; ++k) {
          for (int p = 0; p < Parts; ++p) {
            std::size_t const at = static_cast<std::size_t>(pack + p * apart) * N;
            if (to[k] != nullptr && pack + p * apart < packs) store(to[k] + at, values[k][p]);
          }
        }
      });
    }
    if (streaming) collective::streaming_fence();
  }

 private:
  // Returns the table's row for a position, or null if the table has no such row.
  [[nodiscard]] KOKKOS_FUNCTION T const* row_of(std::size_t position) const {
    std::int32_t const index = indices[position];
    if (index < 0 || static_cast<std::size_t>(index) >= rows) return nullptr;
    return table + static_cast<std::size_t>(index) * width;
  }

  KOKKOS_FUNCTION void store(T* to, Pack const& values) const {
    if constexpr (N * sizeof(T) == 16) {
      if (streaming) return collective::streaming_store(to, values);
    }
    collective::pack_at<N>(to) = values;
  }
};

}  // namespace detail

/// out[i, :] = table[indices[i], :] for indices of type int32; zeros if an index is outside the table.
///
/// Construct it once for a table and at most n indices: chooses packs, lanes and teams. Calls share no memory and may
/// run concurrently.
template <ExecutionSpace Exec, class T, class Tuning = EmbeddingTuning<Exec, T>>
class Embedding {
  static constexpr int pack = Tuning::pack;

 public:
  /// \param n largest number of indices of a call
  /// \param table [rows, width]: the table of the calls, or one with the same extents and alignment
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  template <Readable<Exec, T, 2> Table>
  Embedding(Exec const& exec, std::size_t n, Table const& table, std::int64_t team = 0,
            std::string const& label = "tessera::embedding")
      : label_(label + "::copy"), n_(n), rows_(table.extent(0)), width_(table.extent(1)) {
    if (width_ > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw Skip("rows of " + std::to_string(width_) + " elements (a row's elements are counted in 32 bits)");
    }
    in_packs_ = width_ % pack == 0 && collective::is_aligned_for_packs<pack>(table.data());
    lanes_ = lanes_for<Exec>(in_packs_ ? width_ / pack : width_);
    threads_ = team_size(exec, team, lanes_);
  }

  /// Enqueues. `indices` [m], m <= n, `table` [rows, width], `out` [m, width] must be contiguous and row-major. `out`
  /// must not overlap the others. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, std::int32_t, 1> Indices, Readable<Exec, T, 2> Table, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, Indices const& indices, Table const& table, Out const& out) const {
    require_apart(out, indices, table);
    std::size_t const n = std::min<std::size_t>(indices.extent(0), n_);
    std::int32_t const* const from = contiguous(indices, n);
    T const* const rows = row_major(table, rows_, width_);
    T* const to = row_major(out, n, width_);
    if (out.size() == 0) return;
    if (in_packs_ && collective::is_aligned_for_packs<pack>(rows, to)) {
      enqueue<pack>(exec, n, from, rows, to);
    } else {
      enqueue<1>(exec, n, from, rows, to);
    }
  }

  [[nodiscard]] std::string note() const {
    return std::string(in_packs_ ? "16-byte packs" : "single elements") +
           (is_gpu<Exec> ? ", " + std::to_string(lanes_) + " lanes per row" : "");
  }

 private:
  // As many packs of one row in flight as a lane has of it; the other packs belong to further rows.
  template <int N, int Parts = Tuning::in_flight>
  void enqueue(Exec const& exec, std::size_t n, std::int32_t const* indices, T const* table, T* out) const {
    if constexpr (Parts > 1) {
      if (width_ / N / static_cast<std::size_t>(lanes_) < Parts) {
        return enqueue<N, Parts / 2>(exec, n, indices, table, out);
      }
    }
    constexpr int rows = Tuning::in_flight / Parts;
    using Kernel = detail::EmbeddingKernel<Exec, T, N, rows, Parts>;
    std::size_t const teams = Tuning::team_per_tile ? std::size_t{1} << 30 : teams_that_fill(exec, threads_);
    Kernel const kernel{.indices = indices,
                        .table = table,
                        .out = out,
                        .rows = rows_,
                        .width = width_,
                        .chunks = split(n, static_cast<std::size_t>(threads_) * rows, teams),
                        .streaming = N * sizeof(T) == 16 && collective::streams<Exec>(n * width_ * sizeof(T))};
    Kokkos::parallel_for(label_, typename Kernel::Policy(exec, kernel.chunks.count, threads_, lanes_), kernel);
  }

  std::string label_;
  std::size_t n_;
  std::size_t rows_;
  std::size_t width_;
  bool in_packs_ = false;
  int lanes_ = 1;
  int threads_ = 1;
};

/// out[i, :] = table[indices[i], :], or zeros if the table has no such row. `indices` [n], `table` [rows, width], `out`
/// [n, width]. Convenience for a single call: enqueues and waits.
template <ExecutionSpace Exec, class Indices, class Table, class Out>
void embedding(Exec const& exec, Indices const& indices, Table const& table, Out const& out) {
  Embedding<Exec, typename Out::non_const_value_type> const kernel(exec, indices.extent(0), table);
  kernel(exec, indices, table, out);
  exec.fence("tessera: embedding");
}

}  // namespace tessera::kernels
