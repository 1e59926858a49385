#pragma once
/// \file
/// The stable partition: first the elements for which a predicate is true ("left"), then all others ("right"), both in
/// their original order. Also stream compaction, which keeps only the left elements.
///
/// - ReduceThenScatter: two launches, 3n traffic, of which two thirds are reads. In the first launch each team counts
///   the left elements of one contiguous chunk of tiles. In the second launch each team adds up the counts of all
///   chunks (there are only as many as fill the machine), which gives the destinations of its elements. No team waits
///   for another.
/// - LookBackPartition: one launch counts the left elements of the whole array. In the next launch each team splits a
///   tile, learns from its predecessors how many left elements are before the tile (decoupled look-back,
///   collective/look_back.hpp), and writes both sides. 3n traffic, of which two thirds are reads.
/// - LookBackPartitionReversed: the same pass without the count. The begin of the right side is unknown until the last
///   tile is counted, but its end is known: its elements are written backwards from the end of the array, in reverse
///   order. 2n traffic, one launch.
/// - LookBackCompaction: the same pass without the right elements. n elements are read, the left ones are written, one
///   launch.
///
/// Tiles are held in registers. Their elements are reordered in team scratch, so that left and right elements are
/// written as contiguous runs. On hosts no branch depends on the data.
///
/// Example, left is < 5, tiles of 3: 3 7 1 | 8 9 2 | 6 4 -> left counts 2, 1, 1; left elements before the tiles 0, 2,
/// 3; 4 in total -> 3 1 2 4 | 7 8 9 6.
///
/// Use:  partition(exec, in, out, count, IsNegative{});  compact(exec, in, out, count, IsNegative{});
/// or, enqueued many times:  ReduceThenScatter<Exec, float, IsNegative> split(exec, n);  split(exec, in, out, count);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/look_back.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/look_back_workspace.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/partition/partition_tile.hpp>

namespace tessera::kernels {

namespace detail {

/// Left elements before a position, and in total.
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

template <ExecutionSpace Exec, class T, class Predicate, class Tuning>
struct ReduceThenScatterKernels {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Shape = PartitionShape<Exec, T, Tuning>;
  using Lanes = typename Shape::Lanes;
  using Rows = thread::Rows<T, Shape::Part::rows, Shape::Part::pack>;
  template <class Value>
  using Scratch = ScratchView<Value*, Exec>;

  struct CountTag {};
  struct ScatterTag {};
  template <class Tag>
  using Policy = Kokkos::TeamPolicy<Exec, Tag, typename Tuning::Bounds>;

  Predicate is_left;
  T const* in;
  T* values;
  std::int64_t* left_count;
  std::int64_t* chunk_counts;
  Chunks chunks;
  std::size_t tile;
  int part;
  bool is_one_tile;  // a single tile counts its own elements: there was no first launch

  [[nodiscard]] static std::size_t count_scratch(Shape const& shape) {
    return Scratch<LeftCounts>::shmem_size(shape.threads);
  }
  [[nodiscard]] static std::size_t scatter_scratch(Shape const& shape) {
    return Scratch<LeftCounts>::shmem_size(shape.threads) + Scratch<int>::shmem_size(shape.threads) +
           Scratch<T>::shmem_size(shape.tile);
  }

  KOKKOS_FUNCTION void operator()(CountTag, Member const& team) const {
    Scratch<LeftCounts> const sums(team.team_scratch(0), team.team_size());
    LeftCounts own;
    if constexpr (Tuning::warps) {
      own = lefts_in_tiles(team);
    } else {
      own = {0, lefts_in(run_of(team, team.league_rank()))};
    }
    LeftCounts const all = team::scan_threads(team, Lanes{}, own, sums.data(), AddLeftCounts{}).total;
    Kokkos::single(Kokkos::PerTeam(team), [&] { chunk_counts[team.league_rank()] = all.total; });
    leave_scratch(team);  // for a team that handles another chunk; at present there are no more chunks than teams
  }

  KOKKOS_FUNCTION void operator()(ScatterTag, Member const& team) const {
    Scratch<LeftCounts> const sums(team.team_scratch(0), team.team_size());
    // The last chunks and tiles come first, because the first launch left them in the caches. (On hosts a thread
    // handles the chunk that it counted.)
    int const chunk = Tuning::warps ? chunks.count - 1 - team.league_rank() : team.league_rank();
    LeftCounts const of_chunks = is_one_tile ? LeftCounts{0, 0} : counted(team, chunk, sums.data());
    if constexpr (Tuning::warps) {
      scatter_tiles(team, chunk, of_chunks);
    } else {
      scatter_runs(team, chunk, of_chunks, sums.data());
    }
  }

 private:
  // Counts the left elements of a thread's parts of a chunk's tiles.
  [[nodiscard]] KOKKOS_FUNCTION LeftCounts lefts_in_tiles(Member const& team) const {
    Lanes const lanes;
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
    return thread::reduce<LeftCounts>(lanes, lefts, AddLeftCounts{});
  }

  template <bool is_whole>
  [[nodiscard]] KOKKOS_FUNCTION int lefts_of(int lane, Rows const& rows, int count) const {
    int lefts = 0;
    thread::for_each_in_rows<Lanes::width>(
        lane, rows, [&](int i, T const& x) { lefts += (is_whole || i < count) && is_left(x) ? 1 : 0; });
    return lefts;
  }

  // Reorders each tile in scratch, so that left and right elements are written as contiguous runs.
  KOKKOS_FUNCTION void scatter_tiles(Member const& team, int chunk, LeftCounts const& of_chunks) const {
    Scratch<int> const totals(team.team_scratch(0), team.team_size());
    Scratch<T> const exchange(team.team_scratch(0), tile);
    std::int64_t total = of_chunks.total;
    // left elements up to the end of a tile
    std::int64_t upto = is_one_tile ? 0 : of_chunks.before + chunk_counts[chunk];
    std::size_t const end = chunks.end(chunk);
    std::size_t tiles = (end - chunks.begin(chunk) + tile - 1) / tile;
    while (tiles > 0) {
      --tiles;
      std::size_t const begin = chunks.begin(chunk) + tiles * tile;
      int const count = thread::count_before(begin, end, static_cast<int>(tile));
      PartitionTile<Shape, T, Predicate, Tuning> own;
      // The barrier in load() precedes the next write to `exchange`; the barrier below precedes the next write to
      // `totals`.
      auto const counts = own.load(team, in + begin, part, count, is_left, totals.data());
      own.template exchange<RightOrder::kept>(is_left, counts, count, exchange.data());
      team.team_barrier();
      if (is_one_tile) total = upto = counts.lefts;
      upto -= counts.lefts;  // now up to the begin of the tile
      store_run<Shape, Tuning>(team, exchange.data(), counts.lefts, values + upto);
      store_run<Shape, Tuning>(team, exchange.data() + counts.lefts, count - counts.lefts,
                               values + total + (begin - static_cast<std::size_t>(upto)));
    }
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      if (chunk == 0) left_count[0] = total;
    });
  }

  // Hosts: the contiguous elements of a chunk that one thread handles.
  struct Run {
    std::size_t begin;
    std::size_t end;
  };
  [[nodiscard]] KOKKOS_FUNCTION Run run_of(Member const& team, int chunk) const {
    std::size_t const end = chunks.end(chunk);
    std::size_t const length = (end - chunks.begin(chunk) + team.team_size() - 1) / team.team_size();
    std::size_t const begin = Kokkos::min(chunks.begin(chunk) + length * team.team_rank(), end);
    return {begin, Kokkos::min(begin + length, end)};
  }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t lefts_in(Run const& run) const {
    std::int64_t lefts = 0;
    for (std::size_t i = run.begin; i < run.end; ++i) lefts += is_left(in[i]) ? 1 : 0;
    return lefts;
  }

  // Hosts: each thread writes the elements of its run to their destinations. Caches combine the writes, as scratch does
  // for a warp. The destination is computed without a branch, which would be mispredicted every second time.
  KOKKOS_FUNCTION void scatter_runs(Member const& team, int chunk, LeftCounts const& of_chunks,
                                    LeftCounts* scratch) const {
    Run const run = run_of(team, chunk);
    std::int64_t before = of_chunks.before;
    std::int64_t total = of_chunks.total;
    // A team of one thread needs no count: nothing is before its run in the chunk, and the first launch, if there was
    // one, counted the chunk.
    if (is_one_tile || team.team_size() > 1) {
      team.team_barrier();  // all have read the scratch from which `of_chunks` came
      LeftCounts const own{0, lefts_in(run)};
      auto const lefts = team::scan_threads(team, Lanes{}, own, scratch, AddLeftCounts{});
      before += lefts.before.total;
      if (is_one_tile) total = lefts.total.total;
    }
    auto left = static_cast<std::size_t>(before);
    auto right = static_cast<std::size_t>(total) + run.begin - left;
    for (std::size_t i = run.begin; i < run.end; ++i) {
      T const value = in[i];
      std::size_t const to_left = is_left(value) ? 1 : 0;
      values[right ^ ((left ^ right) & -to_left)] = value;
      left += to_left;
      right += 1 - to_left;
    }
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      if (chunk == 0) left_count[0] = total;
    });
    leave_scratch(team);
  }

  // Returns the counts of the chunks before `chunk` and of all chunks, in every lane of the team.
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

/// Counts the left elements of the whole array. Teams have few tiles each and begin with the last tiles, so that the
/// next launch finds the first tiles in the cache.
template <ExecutionSpace Exec, class T, class Predicate, class Tuning>
struct CountLefts {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::Bounds>;
  using Member = typename Policy::member_type;
  using Shape = PartitionShape<Exec, T, Tuning>;
  using Lanes = typename Shape::Lanes;
  using Rows = thread::Rows<T, Shape::Part::rows, Shape::Part::pack>;
  using Scratch = ScratchView<std::int64_t*, Exec>;
  static constexpr int part = Shape::Part::size;

  Predicate is_left;
  T const* in;
  std::int64_t* left_count;
  std::int64_t* total;      // zero before every launch
  std::uint32_t* finished;  // teams that have added their count; zero before every launch
  Chunks chunks;

  [[nodiscard]] static std::size_t scratch_bytes(int threads) { return Scratch::shmem_size(threads); }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Scratch const sums(team.team_scratch(0), team.team_size());
    int const chunk = chunks.count - 1 - team.league_rank();
    std::size_t const end = chunks.end(chunk);
    auto lefts = lanes.template fill<std::int32_t>(0);
    for (std::size_t begin = chunks.begin(chunk) + static_cast<std::size_t>(team.team_rank()) * part; begin < end;
         begin += static_cast<std::size_t>(team.team_size()) * part) {
      int const count = thread::count_before(begin, end, part);
      auto rows = lanes.template fill<Rows>({});
      thread::load_rows(lanes, in + begin, count, T{}, rows);
      lanes.each(
          [&](int lane, Rows const& own, std::int32_t& sum) {
            thread::for_each_in_rows<Lanes::width>(
                lane, own, [&](int i, T const& x) { sum += (count == part || i < count) && is_left(x) ? 1 : 0; });
          },
          rows, lefts);
    }
    std::int64_t const own = thread::reduce<std::int32_t>(lanes, lefts, collective::Sum<std::int32_t>{});
    auto const all = team::scan_threads(team, lanes, own, sums.data(), collective::Sum<std::int64_t>{}).total;
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      Kokkos::atomic_add(total, all);
      Kokkos::memory_fence();  // a team that sees the number must also see the count
      if (Kokkos::atomic_fetch_add(finished, 1u) + 1 != static_cast<std::uint32_t>(chunks.count)) return;
      *left_count = Kokkos::atomic_exchange(total, std::int64_t{0});
      *finished = 0;
    });
    leave_scratch(team);
  }
};

/// Count: an unsigned type that holds numbers up to n. A count of 32 bits shares one word with its flag.
/// `rights`: what happens to the right elements. None: they are dropped. Reversed: they are written backwards from the
/// end of the array. Kept: they are written in their order, if the number of left elements is known.
template <ExecutionSpace Exec, class T, class Predicate, class Count, RightOrder rights, class Tuning>
struct LookBackSplitKernel {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::Bounds>;
  using Member = typename Policy::member_type;
  using Shape = PartitionShape<Exec, T, Tuning>;
  using Lanes = typename Shape::Lanes;

  struct Shared {
    std::uint32_t tile;
    Count before;
  };
  template <class Value>
  using Scratch = ScratchView<Value*, Exec>;

  Predicate is_left;
  T const* in;
  T* values;
  std::int64_t* left_count;
  std::size_t n;
  std::size_t tiles;
  std::size_t tile_size;
  int part;
  int ahead;  // tiles ahead of its own of the one that a team asks for; 0: none
  typename LookBackWorkspace<Exec, Count>::Handle look_back;

  [[nodiscard]] static std::size_t scratch_bytes(Shape const& shape) {
    return Scratch<Shared>::shmem_size(1) + Scratch<int>::shmem_size(shape.threads) +
           Scratch<T>::shmem_size(shape.tile);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    collective::Sum<Count> const add;
    Scratch<Shared> const shared(team.team_scratch(0), 1);
    Scratch<int> const totals(team.team_scratch(0), team.team_size());
    Scratch<T> const exchange(team.team_scratch(0), tile_size);

    // 1. The number of the tile: in the order in which teams start, which may differ from their rank.
    Kokkos::single(Kokkos::PerTeam(team), [&] { shared(0).tile = look_back.next_tile(); });
    team.team_barrier();
    std::size_t const number = shared(0).tile;
    std::size_t const begin = number * tile_size;
    int const count = thread::count_before(begin, n, static_cast<int>(tile_size));

    // 2. Split the tile without its predecessors. Its elements are written to scratch before the team reads its
    // predecessors, which gives them more time to publish.
    PartitionTile<Shape, T, Predicate, Tuning> tile;
    if (ahead > 0) {
      prefetch_part<Shape>(team, in, begin + static_cast<std::size_t>(ahead) * tile_size, n, part);
    }
    auto const counts = tile.load(team, in + begin, part, count, is_left, totals.data());
    auto const lefts = static_cast<Count>(counts.lefts);
    if (team.team_rank() == 0 && number > 0) publish(team, number, collective::TileState::partial, lefts);
    tile.template exchange<rights>(is_left, counts, count, exchange.data());

    // 3. Learn the number of left elements before the tile.
    if (team.team_rank() == 0) {
      Count const before = number > 0 ? look_back.before(lanes, number, add) : add.identity();
      publish(team, number, collective::TileState::inclusive, add(before, lefts));
      Kokkos::single(Kokkos::PerThread(team), [&] {
        shared(0).before = before;
        if (rights != RightOrder::kept && number + 1 == tiles)
          left_count[0] = static_cast<std::int64_t>(add(before, lefts));
      });
    }
    team.team_barrier();

    // 4. Write the left elements as one contiguous run and the right elements as another.
    std::size_t const before = shared(0).before;
    std::size_t const rights_before = begin - before;
    int const right_count = count - counts.lefts;
    store_run<Shape, Tuning>(team, exchange.data(), counts.lefts, values + before);
    if constexpr (rights != RightOrder::none) {
      T* const to = rights == RightOrder::kept ? values + static_cast<std::size_t>(left_count[0]) + rights_before
                                               : values + (n - rights_before - right_count);
      store_run<Shape, Tuning>(team, exchange.data() + counts.lefts, right_count, to);
    }
  }

 private:
  KOKKOS_FUNCTION void publish(Member const& team, std::size_t tile, collective::TileState state, Count value) const {
    Kokkos::single(Kokkos::PerThread(team), [&] { look_back.publish(tile, state, value); });
  }
};

/// The common pass of LookBackPartition, LookBackPartitionReversed and LookBackCompaction.
template <ExecutionSpace Exec, class T, class Predicate, RightOrder rights, class Tuning>
class LookBackSplit {
  using Shape = PartitionShape<Exec, T, Tuning>;
  using Counter = CountLefts<Exec, T, Predicate, Tuning>;

 public:
  explicit LookBackSplit(Exec const& exec, std::size_t n, Predicate const& is_left = {}, std::int64_t tile = 0,
                         std::int64_t team = 0,
                         std::string const& label = rights == RightOrder::none ? "tessera::look_back_compaction"
                                                                               : "tessera::look_back_partition")
      : label_(label),
        is_left_(is_left),
        shape_(exec, tile, team),
        n_(n),
        // At least one tile, even without elements, because a tile writes the count.
        tiles_(std::max<std::size_t>(1, tiles_of(n, shape_.tile))),
        league_(league_of(tiles_)),
        counted_(split(n, static_cast<std::size_t>(shape_.threads) * Counter::part * Tuning::tiles_of_count, tiles_)),
        look_back_(look_back_for(n, label, tiles_)),
        total_(label + "::total"),
        finished_(label + "::finished") {}

  /// Enqueues. Throws std::invalid_argument if `in` or `out` is strided or its length is not n.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Out, Writable<Exec, std::int64_t, 0> Count>
  void operator()(Exec const& exec, In const& in, Out const& out, Count const& count) {
    require_apart(out, in);
    T const* const from = contiguous(in, n_);
    T* const to = contiguous(out, n_);
    if constexpr (rights == RightOrder::kept) {
      typename Counter::Policy policy(exec, counted_.count, shape_.threads, Shape::vector_length);
      Kokkos::parallel_for(label_ + "::count", with_scratch(policy, Counter::scratch_bytes(shape_.threads)),
                           Counter{is_left_, from, count.data(), total_.data(), finished_.data(), counted_});
    }
    std::visit([&](auto& look_back) { pass(exec, from, to, count.data(), look_back); }, look_back_);
  }

  [[nodiscard]] std::string note() const { return "tile " + std::to_string(shape_.tile); }

 private:
  using Narrow = LookBackWorkspace<Exec, std::uint32_t>;
  using Wide = LookBackWorkspace<Exec, std::uint64_t>;
  using LookBack = std::variant<Narrow, Wide>;

  [[nodiscard]] static LookBack look_back_for(std::size_t n, std::string const& label, std::size_t tiles) {
    if (n > Tuning::most_in_32_bits) return LookBack(std::in_place_type<Wide>, label, tiles);
    return LookBack(std::in_place_type<Narrow>, label, tiles);
  }

  template <class Count>
  void pass(Exec const& exec, T const* in, T* out, std::int64_t* count, LookBackWorkspace<Exec, Count>& look_back) {
    using Kernel = LookBackSplitKernel<Exec, T, Predicate, Count, rights, Tuning>;
    typename Kernel::Policy policy(exec, league_, shape_.threads, Shape::vector_length);
    Kokkos::parallel_for(label_ + "::pass", with_scratch(policy, Kernel::scratch_bytes(shape_)),
                         Kernel{is_left_, in, out, count, n_, tiles_, shape_.tile, shape_.part,
                                Tuning::ahead(exec, shape_.tile * sizeof(T)), look_back.next_launch(exec)});
  }

  std::string label_;
  Predicate is_left_;
  Shape shape_;
  std::size_t n_;
  std::size_t tiles_;
  int league_;
  Chunks counted_;
  LookBack look_back_;
  Kokkos::View<std::int64_t, typename Exec::memory_space> total_;
  Kokkos::View<std::uint32_t, typename Exec::memory_space> finished_;
};

}  // namespace detail

/// The stable partition in two launches, in which no team waits for another. `in` and `out` [n] must be contiguous and
/// must not overlap, because an element may be written anywhere. `count`: the number of left elements, one std::int64_t
/// (rank 0).
///
/// Predicate: `bool operator()(T) const` in device code. It is called several times per element and must always return
/// the same value. Construct it once: chooses tiles and chunks, allocates one number per chunk. A call only enqueues;
/// calls on one object must not run concurrently.
template <ExecutionSpace Exec, class T, class Predicate, class Tuning = PartitionTuning<Exec, T>>
class ReduceThenScatter {
  using Kernels = detail::ReduceThenScatterKernels<Exec, T, Predicate, Tuning>;
  using Shape = typename Kernels::Shape;

 public:
  /// \param n elements of each array
  /// \param tile elements that a team handles, at most as many as its registers and scratch hold; 0: as many as they
  ///        hold
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  explicit ReduceThenScatter(Exec const& exec, std::size_t n, Predicate const& is_left = {}, std::int64_t tile = 0,
                             std::int64_t team = 0, std::string const& label = "tessera::reduce_then_scatter")
      : label_(label),
        is_left_(is_left),
        shape_(exec, tile, team),
        chunks_(chunks_of(exec, n, shape_.tile, shape_.threads * Shape::vector_length)),
        chunk_counts_(unset(label + "::chunk_counts"), chunks_.count) {}

  /// Enqueues both launches, or one if there is one tile. Throws std::invalid_argument if `in` or `out` is strided or
  /// its length is not n.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Out, Writable<Exec, std::int64_t, 0> Count>
  void operator()(Exec const& exec, In const& in, Out const& out, Count const& count) const {
    require_apart(out, in);
    bool const is_one_tile = chunks_.n <= shape_.tile;
    Kernels const kernels{is_left_,
                          contiguous(in, chunks_.n),
                          contiguous(out, chunks_.n),
                          count.data(),
                          chunk_counts_.data(),
                          chunks_,
                          shape_.tile,
                          shape_.part,
                          is_one_tile};
    if (!is_one_tile) {
      launch<typename Kernels::CountTag>("::count", exec, Kernels::count_scratch(shape_), kernels);
    }
    launch<typename Kernels::ScatterTag>("::scatter", exec, Kernels::scatter_scratch(shape_), kernels);
  }

  [[nodiscard]] std::string note() const {
    return std::to_string(chunks_.count) + " chunks, tile " + std::to_string(shape_.tile);
  }

 private:
  template <class Tag>
  void launch(char const* step, Exec const& exec, std::size_t scratch, Kernels const& kernels) const {
    typename Kernels::template Policy<Tag> policy(exec, chunks_.count, shape_.threads, Shape::vector_length);
    Kokkos::parallel_for(label_ + step, with_scratch(policy, scratch), kernels);
  }

  std::string label_;
  Predicate is_left_;
  Shape shape_;
  Chunks chunks_;
  Kokkos::View<std::int64_t*, typename Exec::memory_space> chunk_counts_;
};

/// The stable partition in a count and a single pass: fastest on GPUs, from some million elements on. Views, predicate
/// and parameters as for ReduceThenScatter. Construct it once: allocates one word per tile. A call only enqueues; calls
/// on one object must not run concurrently.
template <ExecutionSpace Exec, class T, class Predicate, class Tuning = PartitionTuning<Exec, T>>
using LookBackPartition = detail::LookBackSplit<Exec, T, Predicate, detail::RightOrder::kept, Tuning>;

/// The left elements in their order, then the right elements in reverse order: a single pass with 2n traffic, because
/// the right elements can be written backwards from the end of the array before the number of left elements is known.
/// Otherwise as LookBackPartition.
template <ExecutionSpace Exec, class T, class Predicate, class Tuning = PartitionTuning<Exec, T>>
using LookBackPartitionReversed = detail::LookBackSplit<Exec, T, Predicate, detail::RightOrder::reversed, Tuning>;

/// Stream compaction in a single pass: out(0) .. out(count-1) are the left elements, in their order; the rest of `out`
/// [n] is unchanged. Otherwise as LookBackPartition.
template <ExecutionSpace Exec, class T, class Predicate, class Tuning = PartitionTuning<Exec, T>>
using LookBackCompaction = detail::LookBackSplit<Exec, T, Predicate, detail::RightOrder::none, Tuning>;

/// Writes the elements of `in` [n] for which the predicate is true to the begin of `out` [n] and all others after them,
/// both in their order. `count`: the number of elements for which it is true, one std::int64_t. Convenience for a
/// single call: allocates, enqueues and waits.
template <ExecutionSpace Exec, class In, class Out, class Count, class Predicate>
void partition(Exec const& exec, In const& in, Out const& out, Count const& count, Predicate const& is_left) {
  ReduceThenScatter<Exec, typename In::non_const_value_type, Predicate> const split(exec, in.extent(0), is_left);
  split(exec, in, out, count);
  exec.fence("tessera: partition");  // the kernel's memory is freed at the end of this call
}

/// As partition(), but writes only the left elements: `out` from `count` on is unchanged.
template <ExecutionSpace Exec, class In, class Out, class Count, class Predicate>
void compact(Exec const& exec, In const& in, Out const& out, Count const& count, Predicate const& is_left) {
  LookBackCompaction<Exec, typename In::non_const_value_type, Predicate> split(exec, in.extent(0), is_left);
  split(exec, in, out, count);
  exec.fence("tessera: compact");
}

}  // namespace tessera::kernels
