#pragma once
/// \file
/// The two launches of reduce_then_scatter. Every team owns one contiguous chunk of tiles. The first launch counts the
/// left elements of each chunk; in the second every team adds up the counts of all chunks, of which there are only as
/// many as fill the machine, and then knows where the elements of its tiles go.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tile.hpp"

#include <tessera/collective/thread/reduce.hpp>
#include <tessera/kernels/chunks.hpp>

namespace tessera::partition {

/// Left elements before a place, and of all.
struct LeftCounts {
  std::int64_t before;
  std::int64_t total;
};
struct AddLeftCounts {
  [[nodiscard]] KOKKOS_FUNCTION LeftCounts identity() const { return {0, 0}; }
  [[nodiscard]] KOKKOS_FUNCTION LeftCounts operator()(LeftCounts const& a, LeftCounts const& b) const {
    return {a.before + b.before, a.total + b.total};
  }
};

template <ExecutionSpace Exec, class T, bool as_gpu>
struct ChunkKernels {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Shape = TileShape<Exec, T, as_gpu>;
  using Lanes = typename Shape::Lanes;
  using Rows = thread::Rows<T, Shape::Part::rows, Shape::Part::pack>;
  template <class Value>
  using Scratch = Kokkos::View<Value*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  struct CountTag {};
  struct ScatterTag {};
  // No thread takes more than 64 registers, and four teams of 256 lanes share a multiprocessor: see SinglePassKernel.
  template <class Tag>
  using Policy = Kokkos::TeamPolicy<Exec, Tag, Kokkos::LaunchBounds<512, 2>>;

  LessThanPivot<T> is_left;
  T const* in;
  T* values;
  std::int64_t* left_count;
  std::int64_t* chunk_counts;
  kernels::Chunks chunks;
  std::size_t tile;
  int part;
  bool is_one_tile;  // whose count is that of all: there was no first launch

  [[nodiscard]] static std::size_t count_scratch(Shape const& shape) {
    return Scratch<LeftCounts>::shmem_size(shape.threads);
  }
  [[nodiscard]] static std::size_t scatter_scratch(Shape const& shape) {
    return Scratch<LeftCounts>::shmem_size(shape.threads) + Scratch<int>::shmem_size(shape.threads) +
           Scratch<T>::shmem_size(shape.tile);
  }

  KOKKOS_FUNCTION void operator()(CountTag, Member const& team) const {
    Lanes const lanes;
    Scratch<LeftCounts> const sums(team.team_scratch(0), team.team_size());
    std::size_t const end = chunks.end(team.league_rank());
    auto lefts = lanes.template fill<LeftCounts>({0, 0});
    for (std::size_t begin = chunks.begin(team.league_rank()); begin < end; begin += tile) {
      int const tile_count = thread::count_before(begin, end, static_cast<int>(tile));
      int const own = Kokkos::min(static_cast<int>(team.team_rank()) * part, tile_count);
      int const count = Kokkos::min(part, tile_count - own);
      auto values_read = lanes.template fill<Rows>({});
      thread::load_rows(lanes, in + begin + own, count, T{}, values_read);
      lanes.each(
          [&](int lane, Rows const& rows, LeftCounts& sum) {
            sum.total +=
                count == Shape::Part::size ? lefts_of<true>(lane, rows, count) : lefts_of<false>(lane, rows, count);
          },
          values_read, lefts);
    }
    AddLeftCounts const add;
    LeftCounts const own = thread::reduce<LeftCounts>(lanes, lefts, add);
    LeftCounts const all = team::scan_threads(team, lanes, own, sums.data(), add).total;
    Kokkos::single(Kokkos::PerTeam(team), [&] { chunk_counts[team.league_rank()] = all.total; });
    // Should a host go on with another chunk in the same scratch. (Today there are no more chunks than teams.)
    team.team_barrier();
  }

  KOKKOS_FUNCTION void operator()(ScatterTag, Member const& team) const {
    Scratch<LeftCounts> const sums(team.team_scratch(0), team.team_size());
    Scratch<int> const totals(team.team_scratch(0), team.team_size());
    Scratch<T> const exchange(team.team_scratch(0), tile);
    // The last chunks and tiles first: they are what the first launch left in the caches. (On hosts a thread takes the
    // chunk again that it counted.)
    int const chunk = as_gpu ? chunks.count - 1 - team.league_rank() : team.league_rank();
    LeftCounts const of_chunks = is_one_tile ? LeftCounts{0, 0} : counted(team, chunk, sums.data());
    std::int64_t total = of_chunks.total;
    std::int64_t upto = is_one_tile ? 0 : of_chunks.before + chunk_counts[chunk];  // lefts to the end of a tile
    std::size_t const end = chunks.end(chunk);
    std::size_t tiles = (end - chunks.begin(chunk) + tile - 1) / tile;
    while (tiles > 0) {
      --tiles;
      std::size_t const begin = chunks.begin(chunk) + tiles * tile;
      int const count = thread::count_before(begin, end, static_cast<int>(tile));
      Tile<Shape, T> own;
      // The barrier in there comes before `exchange` is written again, and the one below before `totals` is.
      auto const counts = own.load(team, in + begin, part, count, is_left, totals.data());
      own.template exchange<true>(is_left, counts, exchange.data());
      team.team_barrier();
      if (is_one_tile) total = upto = counts.lefts;
      upto -= counts.lefts;  // now: to the tile's begin
      store_run<Shape>(team, exchange.data(), counts.lefts, values + upto);
      store_run<Shape>(team, exchange.data() + counts.lefts, count - counts.lefts,
                       values + total + (begin - static_cast<std::size_t>(upto)));
    }
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      if (chunk == 0) left_count[0] = total;
    });
  }

 private:
  template <bool is_whole>
  [[nodiscard]] KOKKOS_FUNCTION int lefts_of(int lane, Rows const& rows, int count) const {
    int lefts = 0;
    for (int row = 0; row < Rows::rows; ++row) {
      for (int e = 0; e < Rows::pack; ++e) {
        bool const is_there = is_whole || thread::row_offset<Lanes::width, Rows::pack>(row, lane, e) < count;
        lefts += is_there && is_left(rows.at[row][e]) ? 1 : 0;
      }
    }
    return lefts;
  }

  // Adds up the counts of the chunks before one, and of all. Every lane of the team gets them.
  [[nodiscard]] KOKKOS_FUNCTION LeftCounts counted(Member const& team, int chunk, LeftCounts* scratch) const {
    Lanes const lanes;
    AddLeftCounts const add;
    auto lefts = lanes.template fill<LeftCounts>({0, 0});
    for (int first = team.team_rank() * Lanes::width; first < chunks.count; first += Lanes::width * team.team_size()) {
      lanes.each(
          [&](int lane, LeftCounts& sum) {
            if (first + lane >= chunks.count) return;
            std::int64_t const of_chunk = chunk_counts[first + lane];
            sum = add(sum, {first + lane < chunk ? of_chunk : 0, of_chunk});
          },
          lefts);
    }
    LeftCounts const own = thread::reduce<LeftCounts>(lanes, lefts, add);
    return team::scan_threads(team, lanes, own, scratch, add).total;
  }
};

/// Enqueues both launches, or one where there is one tile. For one segment.
template <ExecutionSpace Exec, class T, bool as_gpu = is_gpu<Exec>>
class ChunkedPartition {
 public:
  using Kernels = ChunkKernels<Exec, T, as_gpu>;

  ChunkedPartition(Exec const& exec, std::size_t n, Partition::Parameters const& parameters)
      : shape_(exec, parameters),
        chunks_(kernels::chunks_of(exec, n, shape_.tile, shape_.threads * Kernels::Shape::vector_length)),
        chunk_counts_(
            Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::partition::reduce_then_scatter::chunk_counts"),
            chunks_.count) {}

  void operator()(Exec const& exec, LessThanPivot<T> const& is_left, T const* in, T* values,
                  std::int64_t* left_count) const {
    bool const is_one_tile = chunks_.n <= shape_.tile;
    Kernels const kernels{is_left, in,          values,      left_count, chunk_counts_.data(),
                          chunks_, shape_.tile, shape_.part, is_one_tile};
    if (!is_one_tile) {
      Kokkos::parallel_for("tessera::partition::reduce_then_scatter::count",
                           policy<typename Kernels::CountTag>(exec, Kernels::count_scratch(shape_)), kernels);
    }
    Kokkos::parallel_for("tessera::partition::reduce_then_scatter::scatter",
                         policy<typename Kernels::ScatterTag>(exec, Kernels::scatter_scratch(shape_)), kernels);
  }

  [[nodiscard]] std::string note() const {
    return std::to_string(chunks_.count) + " chunks, tile " + std::to_string(shape_.tile);
  }

 private:
  template <class Tag>
  [[nodiscard]] auto policy(Exec const& exec, std::size_t scratch) const {
    typename Kernels::template Policy<Tag> result(exec, chunks_.count, shape_.threads, Kernels::Shape::vector_length);
    return result.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch)));
  }

  typename Kernels::Shape shape_;
  kernels::Chunks chunks_;
  Kokkos::View<std::int64_t*, typename Exec::memory_space> chunk_counts_;
};

}  // namespace tessera::partition
