#pragma once
/// \file
/// Prefix sums, and scans with any associative operator: inclusive, exclusive, segmented.
///
/// Two kernels, which hold tiles in registers on GPUs and in the cache on hosts:
/// - LookBackScan: one launch, 2n traffic, which is the minimum. Each team scans one tile and learns from its
///   predecessors the total of all tiles before it. Source: Merrill and Garland, Single-pass parallel prefix scan with
///   decoupled look-back (NVIDIA NVR-2016-002); see collective/look_back.hpp.
/// - ReduceThenScan: three launches, 3n traffic. Each team adds up one contiguous chunk of tiles, one team scans the
///   chunks' totals, and each team scans its chunk. There are only as many chunks as fill the machine. The result is
///   bitwise reproducible.
///
/// Example, sum, tiles of 3: 3 1 4 | 1 5 9 | 2 6 -> scans of the single tiles 3 4 8 | 1 6 15 | 2 8; totals before the
/// tiles 0, 8, 23 -> 3 4 8 | 9 14 23 | 25 31; exclusive 0 3 4 | 8 9 14 | 23 25.
///
/// Use:  inclusive_scan(exec, in, out);  exclusive_scan(exec, in, out, collective::Max<float>{});
/// or, enqueued many times:  LookBackScan<Exec, float> scan(exec, n);  scan(exec, in, out);
/// or, in segments of 100:   using Op = collective::SegmentedOperator<float, collective::Sum<float>>;
///                           LookBackScan<Exec, float, Op> scan(exec, n, {.exclusive = true, .segment = 100});

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/look_back.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/prefetch.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/team/memory_tile.hpp>
#include <tessera/collective/team/register_tile.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/look_back_workspace.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/scan/scan_elements.hpp>

namespace tessera::kernels {

/// A thread's part of a tile. On a GPU: rows of 16-byte packs in registers, all loaded at once; tiles are large, so
/// that predecessors are seldom read. On a host: 8192 elements in its cache; eight runs are summed at a time, which
/// hides the latency of an addition.
template <ExecutionSpace Exec, class T>
struct ScanTuning {
  static constexpr int lanes = lane::natural_width<Exec>;
  template <class Lanes, class Elements, int rows>
  using TileOf = std::conditional_t<is_gpu<Exec>, team::RegisterTile<Lanes, Elements, rows, collective::pack_width<T>>,
                                    team::MemoryTile<Lanes, Elements, 64, 8, 16>>;
  /// A pack of a short type has more elements, each of which takes one register while it is added.
  static constexpr int rows = sizeof(T) < 4 ? 4 : 8;
  template <class Lanes, class Elements>
  using Tile = TileOf<Lanes, Elements, rows>;
  /// For LookBackScan. Types of 8 bytes use more rows: a pack has only two elements, so that one scan over the lanes
  /// serves few elements.
  template <class Lanes, class Elements>
  using LookBackTile = TileOf<Lanes, Elements, sizeof(T) == 8 ? 12 : rows>;
  /// For LookBackScan. Two teams of 512 lanes must fit on a multiprocessor, so that a lane takes at most 64 registers;
  /// four teams of 256 lanes then fit, too. While one team reads its predecessors, the others load and store. With
  /// types of 8 bytes, one team of 512 lanes fits, or two of 256.
  using LookBackBounds = Kokkos::LaunchBounds<512, sizeof(T) == 8 ? 1 : 2>;
  /// For LookBackScan: the prefetch distance in tiles. A team prefetches a later tile into the cache for another team.
  /// 0: no prefetch. On a GPU the distance is 32 KiB per multiprocessor: 4 MiB of the 50 MiB cache of an H200. Half or
  /// twice as much is as fast; with four times as much, data are evicted before they are read.
  ///
  /// \param bytes size of a tile
  [[nodiscard]] static int ahead(Exec const& exec, std::size_t bytes) {
    if (!is_gpu<Exec>) return 0;
    std::size_t const all = std::min<std::size_t>(multiprocessors(exec) * 32768, last_cache_of_gpu(exec) / 8);
    return static_cast<int>(std::max<std::size_t>(1, all / bytes));
  }
};

namespace detail {

/// How a scan's teams share an array: threads per team, elements per tile, and elements per thread.
struct ScanShape {
  int threads;
  std::size_t tile;
  int part;

  /// \param held number of elements that a thread can hold. The threads share a smaller tile evenly.
  template <ExecutionSpace Exec>
  ScanShape(Exec const& exec, std::int64_t requested_tile, std::int64_t team, int vector_length, int held)
      : threads(team_size(exec, team, vector_length)) {
    auto const most = static_cast<std::size_t>(threads) * held;
    tile = requested_tile == 0 ? most : std::min(static_cast<std::size_t>(requested_tile), most);
    part = static_cast<int>((tile + threads - 1) / threads);
  }
};

/// Whether n results should bypass a host's caches. An in-place scan has its results in the cache already.
template <ExecutionSpace Exec, class T>
[[nodiscard]] bool scan_streams(T const* from, T const* to, std::size_t n) {
  return from != to && collective::streams<Exec>(n * sizeof(T));
}

template <class Exec, class Elements, class Tuning, lane::Lanes L = lane::On<Exec, Tuning::lanes>>
struct LookBackScanKernel {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::LookBackBounds>;
  using Member = typename Policy::member_type;
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  using Lanes = L;
  using Tile = typename Tuning::template LookBackTile<Lanes, Elements>;

  // Scratch of a team: the number of its tile, the total before the tile, the threads' totals.
  struct Shared {
    std::uint32_t tile;
    Value before;
  };
  using SharedView = ScratchView<Shared, Exec>;
  using TotalsView = ScratchView<Value*, Exec>;

  Elements elements;
  Scalar const* in;
  Scalar* out;
  std::size_t n;
  std::size_t tile_size;
  int part;   // elements of a tile per thread
  int ahead;  // prefetch distance in tiles; 0: no prefetch
  typename LookBackWorkspace<Exec, Value>::Handle look_back;
  bool streaming;  // out is stored past a host's caches

  [[nodiscard]] static std::size_t scratch_bytes(int threads) {
    return SharedView::shmem_size() + TotalsView::shmem_size(threads);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    auto const op = elements.op();
    SharedView const shared(team.team_scratch(0));
    TotalsView const totals(team.team_scratch(0), team.team_size());

    // 1. The number of the tile: in the order in which teams start, which may differ from their rank.
    Kokkos::single(Kokkos::PerTeam(team), [&] { shared().tile = look_back.next_tile(); });
    team.team_barrier();
    std::size_t const tile = shared().tile;

    // 2. Scan the tile without its predecessors.
    std::size_t const tile_begin = tile * tile_size;
    std::size_t const tile_end = Kokkos::min(tile_begin + tile_size, n);
    std::size_t const begin = Kokkos::min(tile_begin + static_cast<std::size_t>(team.team_rank()) * part, tile_end);
    Tile own;
    own.load(lanes, elements, in, begin, Kokkos::min(begin + part, tile_end));
    if (ahead > 0) {
      std::size_t const later = begin + static_cast<std::size_t>(ahead) * tile_size;
      if (later < n) {
        lanes.each([&](int lane) {
          collective::prefetch(in + later, thread::count_before(later, n, part), lane, Lanes::width);
        });
      }
    }
    Value const own_total = own.scan(lanes, elements);
    auto const threads = team::scan_threads(team, lanes, own_total, totals.data(), op);

    // 3. Publish this tile's total to the other teams, and learn the total before the tile.
    if (team.team_rank() == 0) {
      Value before;
      if (tile == 0) {
        before = elements.seed();
      } else {
        publish(team, tile, collective::TileState::partial, threads.total);
        before = look_back.before(lanes, tile, op);
      }
      publish(team, tile, collective::TileState::inclusive, op(before, threads.total));
      Kokkos::single(Kokkos::PerThread(team), [&] { shared().before = before; });
    }
    team.team_barrier();

    // 4. Add the total before the tile to its scan, and store it.
    own.store(lanes, elements, op(shared().before, threads.before), out, streaming);
  }

 private:
  KOKKOS_FUNCTION void publish(Member const& team, std::size_t tile, collective::TileState state,
                               Value const& value) const {
    Kokkos::single(Kokkos::PerThread(team), [&] { look_back.publish(tile, state, value); });
  }
};

template <ExecutionSpace Exec, class Elements, class Tuning>
struct ReduceThenScanKernels {
  template <class Tag>
  using Policy = Kokkos::TeamPolicy<Exec, Tag, AnyTeamBounds<Exec>>;
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Tile = typename Tuning::template Tile<Lanes, Elements>;
  using Scratch = ScratchView<Value*, Exec>;

  struct ReduceTag {};
  struct TotalsTag {};
  struct ScanTag {};

  Elements elements;
  Scalar const* in;
  Scalar* out;
  Value* totals;
  Chunks chunks;
  std::size_t tile;  // elements that a team handles at a time
  int part;          // elements of a tile per thread
  bool streaming;    // out is stored past a host's caches

  // The threads' totals, in two buffers: the totals of the next tile are written while those of the previous tile may
  // still be read.
  [[nodiscard]] static std::size_t scratch_bytes(int threads) { return Scratch::shmem_size(2 * threads); }

  // Total of a chunk.
  KOKKOS_FUNCTION void operator()(ReduceTag, Member const& team) const {
    Value carry = team.league_rank() == 0 ? elements.seed() : elements.op().identity();
    scan_tiles(team, carry, [](Tile&, Value const&) {});
    Kokkos::single(Kokkos::PerTeam(team), [&] { totals[team.league_rank()] = carry; });
    leave_scratch(team);
  }

  // Inclusive scan of all chunks' totals by one team.
  KOKKOS_FUNCTION void operator()(TotalsTag, Member const& team) const {
    Scratch const scratch(team.team_scratch(0), 2 * team.team_size());
    team::lane_scan(team, Lanes{}, totals, scratch.data(), chunks.count, elements.op());
  }

  // Scan of a chunk, starting with the total before it.
  KOKKOS_FUNCTION void operator()(ScanTag, Member const& team) const {
    Value carry = team.league_rank() > 0 ? totals[team.league_rank() - 1] : elements.seed();
    scan_tiles(team, carry,
               [&](Tile& own, Value const& before) { own.store(Lanes{}, elements, before, out, streaming); });
    leave_scratch(team);
  }

 private:
  // Scans the tiles of the team's chunk one after the other, in both launches, so that they read the same elements.
  // `carry`: the total before the chunk, then up to its end. Calls `use` with each tile and the total before the
  // thread's part of it.
  template <class Use>
  KOKKOS_FUNCTION void scan_tiles(Member const& team, Value& carry, Use const& use) const {
    auto const op = elements.op();
    Scratch const scratch(team.team_scratch(0), 2 * team.team_size());
    std::size_t const end = chunks.end(team.league_rank());
    int buffer = 0;
    for (std::size_t tile_begin = chunks.begin(team.league_rank()); tile_begin < end; tile_begin += tile, buffer ^= 1) {
      std::size_t const tile_end = Kokkos::min(tile_begin + tile, chunks.n);
      std::size_t const begin = Kokkos::min(tile_begin + static_cast<std::size_t>(team.team_rank()) * part, tile_end);
      Tile own;
      own.load(Lanes{}, elements, in, begin, Kokkos::min(begin + part, tile_end));
      Value const total = own.scan(Lanes{}, elements);
      auto const threads = team::scan_threads(team, Lanes{}, total, scratch.data() + buffer * team.team_size(), op);
      use(own, op(carry, threads.before));
      carry = op(carry, threads.total);
    }
  }
};

/// Roundings on the longest path through one tile: a thread's part, and the scan of the threads.
template <class Kernel>
[[nodiscard]] double tile_rounding_steps(int threads) {
  return Kernel::Tile::chain + threads + 8;
}

}  // namespace detail

/// The scan in a single pass. `in` and `out` [n] must be contiguous. They may be the same View, because each tile is
/// read before it is written and no other team reads it; they must not overlap otherwise.
///
/// Op: associative with an identity, on T; need not be commutative. `SegmentedOperator<T, Op>` scans each segment.
/// Construct it once: chooses the tile, allocates one word per tile and, if values do not fit into a word, two values
/// per tile. A call only enqueues; calls on one object must not run concurrently. The order of additions, and so the
/// bits of floating-point sums, depends on which tiles have finished.
template <ExecutionSpace Exec, class T, class Op = collective::Sum<T>, class Tuning = ScanTuning<Exec, T>>
class LookBackScan {
  using Elements = ScanElements<T, Op>;
  using Kernel = detail::LookBackScanKernel<Exec, Elements, Tuning>;
  static constexpr int vector_length = lane::vector_length<Exec>(Kernel::Lanes::width);

 public:
  /// \param n elements of each array
  /// \param elements operator, exclusive or not, segments
  /// \param tile elements that a team handles, at most as many as its threads hold; 0: as many as they hold
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  explicit LookBackScan(Exec const& exec, std::size_t n, Elements const& elements = {}, std::int64_t tile = 0,
                        std::int64_t team = 0, std::string const& label = "tessera::look_back_scan")
      : label_(label + "::scan"),
        elements_(elements),
        n_(n),
        shape_(exec, tile, team, vector_length, Kernel::Tile::size),
        league_(league_of(tiles_of(n, shape_.tile))),
        look_back_(label, static_cast<std::size_t>(league_)) {}

  /// Enqueues the scan. Throws std::invalid_argument if a View is strided or its length is not n.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) {
    T const* const from = contiguous(in, n_);
    T* const to = contiguous(out, n_);
    if (n_ == 0) return;
    Kernel const kernel{elements_,
                        from,
                        to,
                        n_,
                        shape_.tile,
                        shape_.part,
                        Tuning::ahead(exec, shape_.tile * sizeof(T)),
                        look_back_.next_launch(exec),
                        detail::scan_streams<Exec>(from, to, n_)};
    typename Kernel::Policy policy(exec, league_, shape_.threads, vector_length);
    Kokkos::parallel_for(label_, with_scratch(policy, Kernel::scratch_bytes(shape_.threads)), kernel);
  }

  /// Returns the roundings on the longest path to a result. In the worst case every tile finds an inclusive value only
  /// at its neighbour, so that the chain goes through all tiles.
  [[nodiscard]] double rounding_steps() const { return detail::tile_rounding_steps<Kernel>(shape_.threads) + league_; }
  [[nodiscard]] std::string note() const { return "tile " + std::to_string(shape_.tile); }

 private:
  std::string label_;
  Elements elements_;
  std::size_t n_;
  detail::ScanShape shape_;
  int league_;  // one team per tile
  LookBackWorkspace<Exec, typename Kernel::Value> look_back_;
};

/// The scan in three launches (one if there is a single chunk), which adds in the same order in every run. Views,
/// aliasing, operator and parameters as for LookBackScan. Construct it once: chooses tiles and chunks, allocates one
/// value per chunk. A call only enqueues; calls on one object must not run concurrently.
template <ExecutionSpace Exec, class T, class Op = collective::Sum<T>, class Tuning = ScanTuning<Exec, T>>
class ReduceThenScan {
  using Elements = ScanElements<T, Op>;
  using Kernels = detail::ReduceThenScanKernels<Exec, Elements, Tuning>;
  static constexpr int vector_length = lane::vector_length<Exec>(Kernels::Lanes::width);

 public:
  explicit ReduceThenScan(Exec const& exec, std::size_t n, Elements const& elements = {}, std::int64_t tile = 0,
                          std::int64_t team = 0, std::string const& label = "tessera::reduce_then_scan")
      : label_(label),
        elements_(elements),
        shape_(exec, tile, team, vector_length, Kernels::Tile::size),
        chunks_(chunks_of(exec, n, shape_.tile, shape_.threads * vector_length)),
        totals_(unset(label + "::totals"), chunks_.count) {}

  /// Enqueues the scan. Throws std::invalid_argument if a View is strided or its length is not n.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    T const* const from = contiguous(in, chunks_.n);
    T* const to = contiguous(out, chunks_.n);
    if (chunks_.n == 0) return;
    Kernels const kernels{elements_, from,        to,          totals_.data(),
                          chunks_,   shape_.tile, shape_.part, detail::scan_streams<Exec>(from, to, chunks_.n)};
    if (chunks_.count > 1) {
      launch<typename Kernels::ReduceTag>("::reduce", exec, chunks_.count, kernels);
      launch<typename Kernels::TotalsTag>("::totals", exec, 1, kernels);
    }
    launch<typename Kernels::ScanTag>("::scan", exec, chunks_.count, kernels);
  }

  /// Returns the roundings on the longest path to a result: of the chunks' totals, of a chunk's tiles one after the
  /// other (in two launches), and within a tile.
  [[nodiscard]] double rounding_steps() const {
    double const within = detail::tile_rounding_steps<Kernels>(shape_.threads);
    double const chunk_tiles = std::ceil(static_cast<double>(chunks_.size) / static_cast<double>(shape_.tile));
    double const totals =
        std::ceil(static_cast<double>(chunks_.count) / (Kernels::Lanes::width * shape_.threads)) + within;
    return within + 2 * chunk_tiles + totals;
  }
  [[nodiscard]] std::string note() const {
    return std::to_string(chunks_.count) + " chunks, tile " + std::to_string(shape_.tile);
  }

 private:
  template <class Tag>
  void launch(char const* step, Exec const& exec, int league, Kernels const& kernels) const {
    typename Kernels::template Policy<Tag> policy(exec, league, shape_.threads, vector_length);
    Kokkos::parallel_for(label_ + step, with_scratch(policy, Kernels::scratch_bytes(shape_.threads)), kernels);
  }

  std::string label_;
  Elements elements_;
  detail::ScanShape shape_;
  Chunks chunks_;
  Kokkos::View<typename Kernels::Value*, typename Exec::memory_space> totals_;
};

/// The faster kernel: LookBackScan on GPUs, where traffic decides; ReduceThenScan on hosts, where threads would wait
/// for each other in a look-back.
template <ExecutionSpace Exec, class T, class Op = collective::Sum<T>>
using FasterScan = std::conditional_t<is_gpu<Exec>, LookBackScan<Exec, T, Op>, ReduceThenScan<Exec, T, Op>>;

namespace detail {

template <ExecutionSpace Exec, class Op, class In, class Out>
void scan_once(Exec const& exec, In const& in, Out const& out, Op const& op, bool exclusive) {
  using T = typename In::non_const_value_type;
  static_assert(std::is_same_v<typename ScanElements<T, Op>::Value, T>,
                "Tessera: a scan by segments has to be told their length: use LookBackScan or ReduceThenScan");
  FasterScan<Exec, T, Op> scan(exec, in.extent(0), {op, exclusive});
  scan(exec, in, out);
  exec.fence("tessera: scan");  // the kernel's memory is freed at the end of this call
}

}  // namespace detail

/// out[i] = in[0] op ... op in[i]. `in`, `out` [n], which may be the same View. Convenience for a single call:
/// allocates, enqueues and waits.
template <ExecutionSpace Exec, class In, class Out, class Op = collective::Sum<typename In::non_const_value_type>>
void inclusive_scan(Exec const& exec, In const& in, Out const& out, Op const& op = {}) {
  detail::scan_once(exec, in, out, op, false);
}

/// out[i] = in[0] op ... op in[i-1]; out[0] is the identity of op. Otherwise as inclusive_scan.
template <ExecutionSpace Exec, class In, class Out, class Op = collective::Sum<typename In::non_const_value_type>>
void exclusive_scan(Exec const& exec, In const& in, Out const& out, Op const& op = {}) {
  detail::scan_once(exec, in, out, op, true);
}

}  // namespace tessera::kernels
