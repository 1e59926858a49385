#pragma once
/// \file
/// Runs of equal neighbouring keys: one result per run, its key, and the number of runs, which stays on the device. The
/// result is the fold of the run's values (ReduceByKey), its length (RunLengths), or only the key (RunLengths, too).
/// ScanByKey gives each element the fold of its run so far instead.
///
/// Keys are integers or floats of 32 or 64 bits, values of any such type. A run's key is that of its first element.
/// Zeros of both signs are equal; NaN differs from every key, also from NaN, so that each is a run of its own.
///
/// One launch. A team holds a tile in registers. An element whose key differs from the one before it is the head of a
/// run. A scan counts heads and folds values since the last head. At each head the run before it is complete: its
/// result and the head's key go to scratch. The team learns from its predecessors how many heads are before the tile,
/// and what they have of the run that is open there (decoupled look-back, collective/look_back.hpp); both are one value
/// of an associative operator, see RunOperator. Then the results leave scratch as contiguous runs. A scan needs no
/// scratch for them: each lane adds what lies before its elements.
///
/// Traffic: keys and values are read once, keys and results of the runs are written once.
///
/// Example, tiles of 3: keys 7 7 2 | 2 2 7 | 5, values 1 2 3 | 4 5 6 | 7 -> heads and folds of the tiles (2, 3), (1, 6)
/// and (1, 7); before them (0, -), (2, 3) and (3, 6) -> keys 7 2 7 5, sums 3 12 6 7, count 4.
///
/// Use:  reduce_by_key(exec, keys, values, unique_keys, sums, count);
///       run_lengths(exec, keys, unique_keys, lengths, count);  unique(exec, keys, unique_keys, count);
///       scan_by_key(exec, keys, values, out);
/// or, enqueued many times:
///       ReduceByKey<Exec, float> reduce(exec, n);  reduce(exec, keys, values, unique_keys, sums, count);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/look_back.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/prefetch.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/collective/thread/scan.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/launch/large_scratch.hpp>
#include <tessera/kernels/detail/launch/look_back_workspace.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/detail/partition/partition_tile.hpp>
#include <tessera/kernels/detail/sort/bin_tuning.hpp>

namespace tessera::kernels {

/// Elements that stand for a stretch of an array: the heads in it, and the fold of the elements from the last head on
/// (of all elements if there is none).
template <class V>
struct RunState {
  std::uint32_t heads;
  V value;
};

/// Joins neighbouring stretches. Associative, not commutative.
template <class V, class Op>
struct RunOperator {
  Op op;

  [[nodiscard]] KOKKOS_FUNCTION RunState<V> identity() const { return {0, op.identity()}; }
  [[nodiscard]] KOKKOS_FUNCTION RunState<V> operator()(RunState<V> const& a, RunState<V> const& b) const {
    return {a.heads + b.heads, b.heads != 0 ? b.value : op(a.value, b.value)};
  }
};

/// Tiles of RunLengths and ScanByKey. V: type of the results.
template <ExecutionSpace Exec, class V, class Key = std::int32_t>
struct RunsTuning {
  static constexpr int lanes = lane::natural_width<Exec>;
  /// An element of a pack has a key and a value: the wider one limits the pack.
  static constexpr int pack = Kokkos::min(collective::pack_width<V>, collective::pack_width<Key>);
  /// Packs per lane, of keys and of values. On a GPU both together are 128 bytes in flight per lane with floats; a tile
  /// of 4096 floats and their keys takes 32 KiB of scratch. On a host a tile should take longer than its ticket.
  static constexpr int rows = is_gpu<Exec> ? 4 : 32;
  /// Three teams of 256 lanes fit on a multiprocessor, so that some load while others look back. A lane then has 80
  /// registers; with 64, nvcc 13 spills.
  static constexpr int most_lanes = 256;
  using Bounds = TeamBounds<Exec, most_lanes, 3>;
  /// For store_run: warps write whole lines, with several accesses in flight.
  static constexpr bool warps = is_gpu<Exec>;
  static constexpr int stores_in_flight = 8;
  /// Nanoseconds before a team looks back. On one H100, 1000 instead of 2500 took 27% less time for 2^28 elements.
  static constexpr unsigned patience = 1000;
  /// Returns the prefetch distance in tiles, 32 KiB per multiprocessor; 0: no prefetch. On one H100, 2^28 elements took
  /// 2% less time than with 16 KiB.
  [[nodiscard]] static int ahead(Exec const& exec, std::size_t bytes) {
    if (!is_gpu<Exec>) return 0;
    std::size_t const all = std::min<std::size_t>(multiprocessors(exec) * 32768, last_cache_of_gpu(exec) / 8);
    return static_cast<int>(std::max<std::size_t>(1, all / bytes));
  }
};

/// Tiles of ReduceByKey. With large scratch two teams of 512 lanes share a multiprocessor, with 64 registers per lane:
/// half as many tiles look back. On one H100, 2^28 elements took 8% less time than with three teams of 256.
template <ExecutionSpace Exec, class V, class Key = std::int32_t>
struct ReduceByKeyTuning : RunsTuning<Exec, V, Key> {
  static constexpr bool large = is_gpu<Exec> && has_large_scratch<Exec>;
  static constexpr int most_lanes = large ? 512 : 256;
  using Bounds = TeamBounds<Exec, most_lanes, large ? 2 : 3>;
};

namespace detail {

/// The values of an array.
template <class V>
struct ValuesOfArray {
  static constexpr bool in_memory = true;
  V const* values;
};
/// A value of 1 for each element: sums of them are lengths.
template <class V>
struct OneEach {
  static constexpr bool in_memory = false;
};

/// \tparam scans whether `results` has one fold per element, that of its run so far
template <ExecutionSpace Exec, class K, class V, class Op, class Values, class Tuning, bool scans>
struct RunsKernel {
  using Bounds = typename Tuning::Bounds;
  using Policy = Kokkos::TeamPolicy<Exec, Bounds>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using State = RunState<V>;
  using Key = K;
  static constexpr int width = Lanes::width;
  static constexpr int pack = Tuning::pack;
  static constexpr int rows = Tuning::rows;
  static constexpr int part = rows * width * pack;  // elements of a tile per thread
  static constexpr int vector_length = lane::vector_length<Exec>(width);

  using Keys = thread::Rows<Key, rows, pack>;
  using Folded = thread::Rows<V, rows, pack>;
  struct Heads {
    std::uint32_t of_row[rows];  // one bit per element of a pack
  };
  struct Before {
    State of_row[rows];
  };
  struct Shared {
    std::uint32_t tile;
    State before;
  };
  template <class T>
  using Scratch = ScratchView<T*, Exec>;

  RunOperator<V, Op> op;
  Key const* keys;
  Values source;
  Key* unique_keys;
  V* results;  // [runs], or [n] of a scan; nullptr: only the keys
  std::int64_t* count;
  std::size_t n;
  std::size_t tiles;
  int ahead;  // prefetch distance in tiles; 0: no prefetch
  typename LookBackWorkspace<Exec, State>::Handle look_back;

  [[nodiscard]] static std::size_t scratch_bytes(int threads) {
    std::size_t const tile = scans ? 0 : static_cast<std::size_t>(threads) * part;
    return Scratch<Shared>::shmem_size(1) + Scratch<State>::shmem_size(threads) + Scratch<Key>::shmem_size(tile) +
           Scratch<V>::shmem_size(tile);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    std::size_t const tile_size = static_cast<std::size_t>(team.team_size()) * part;
    Scratch<Shared> const shared(team.team_scratch(0), 1);
    Scratch<State> const totals(team.team_scratch(0), team.team_size());
    Scratch<Key> const heads(team.team_scratch(0), scans ? 0 : tile_size);
    Scratch<V> const ended(team.team_scratch(0), scans ? 0 : tile_size);

    // 1. The number of the tile: in the order in which teams start, which may differ from their rank.
    Kokkos::single(Kokkos::PerTeam(team), [&] { shared(0).tile = look_back.next_tile(); });
    team.team_barrier();
    std::size_t const tile = shared(0).tile;
    std::size_t const begin = Kokkos::min(n, tile * tile_size + static_cast<std::size_t>(team.team_rank()) * part);
    int const mine = thread::count_before(begin, n, part);

    // 2. Count heads and fold values of the tile, without its predecessors.
    auto own_keys = lanes.template fill<Keys>({});
    auto values = lanes.template fill<Folded>({});
    thread::load_rows(lanes, keys + begin, mine, Key(0), own_keys);
    load_values(lanes, begin, mine, values);
    if (ahead > 0) prefetch(lanes, begin + static_cast<std::size_t>(ahead) * tile_size);
    auto found = lanes.template fill<Heads>({});
    find_heads(lanes, begin, mine, own_keys, found);
    auto before_rows = lanes.template fill<Before>({});
    State const own = scan(lanes, values, found, before_rows);
    auto const threads = team::scan_threads(team, lanes, own, totals.data(), op);
    if (team.team_rank() == 0 && tile > 0) publish(team, tile, collective::TileState::partial, threads.total);

    // 3. At head number k of the tile: its key, and the fold of the tile's part of the run before it.
    if constexpr (!scans) {
      lanes.each(
          [&](int, Keys const& of_lane, Folded const& folded, Heads const& is_head, Before const& before) {
            TESSERA_UNROLL
            for (int row = 0; row < rows; ++row) {
              State running = op(threads.before, before.of_row[row]);
              for (int e = 0; e < pack; ++e) {
                bool const head = (is_head.of_row[row] & (1U << e)) != 0;
                if (head) {
                  heads(running.heads) = of_lane.at[row][e];
                  ended(running.heads) = running.value;
                }
                running.heads += head ? 1U : 0U;
                fold(running.value, head, folded.at[row][e]);
              }
            }
          },
          own_keys, values, found, before_rows);
    }

    // 4. Learn what lies before the tile.
    if (team.team_rank() == 0) {
      State const before = tile > 0 ? look_back.before(lanes, tile, op) : op.identity();
      State const through = op(before, threads.total);
      publish(team, tile, collective::TileState::inclusive, through);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        shared(0).before = before;
        if (scans || tile + 1 < tiles) return;
        *count = through.heads;
        if (results != nullptr && through.heads > 0) results[through.heads - 1] = through.value;
      });
    }
    team.team_barrier();

    State const before = shared(0).before;
    if constexpr (scans) {
      // 5. Fold what lies before each element into it.
      lanes.each(
          [&](int, Folded& folded, Heads const& is_head, Before const& of_rows) {
            TESSERA_UNROLL
            for (int row = 0; row < rows; ++row) {
              State running = op(op(before, threads.before), of_rows.of_row[row]);
              for (int e = 0; e < pack; ++e) {
                fold(running.value, (is_head.of_row[row] & (1U << e)) != 0, folded.at[row][e]);
                folded.at[row][e] = running.value;
              }
            }
          },
          values, found, before_rows);
      thread::store_rows(lanes, results + begin, mine, values);
      leave_scratch(team);
      return;
    }

    // 5. Write the keys of the tile's heads, and the results of the runs that ended at them.
    int const ends = static_cast<int>(threads.total.heads);
    store_run<RunsKernel, Tuning>(team, heads.data(), ends, unique_keys + before.heads);
    if (results != nullptr && ends > 0) {
      store_run<RunsKernel, Tuning>(team, ended.data() + 1, ends - 1, results + before.heads);
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        if (before.heads > 0) results[before.heads - 1] = op.op(before.value, ended(0));
      });
    }
    leave_scratch(team);
  }

 private:
  // Folds an element into the value of the run, or begins a run with it.
  KOKKOS_FUNCTION void fold(V& value, bool is_head, V const& x) const {
    V const longer = op.op(value, x);
    value = is_head ? x : longer;
  }

  KOKKOS_FUNCTION void publish(Member const& team, std::size_t tile, collective::TileState state,
                               State const& value) const {
    Kokkos::single(Kokkos::PerThread(team), [&] { look_back.publish(tile, state, value); });
  }

  // Loads the values of the thread's part. Places behind the end get the identity.
  KOKKOS_FUNCTION void load_values(Lanes const& lanes, std::size_t begin, int mine,
                                   typename Lanes::template Value<Folded>& values) const {
    V const nothing = op.op.identity();
    if constexpr (Values::in_memory) {
      thread::load_rows(lanes, source.values + begin, mine, nothing, values);
    } else {
      lanes.each(
          [&](int lane, Folded& ones) {
            thread::for_each_in_rows<width>(lane, ones, [&](int i, V& x) { x = i < mine ? V(1) : nothing; });
          },
          values);
    }
  }

  KOKKOS_FUNCTION void prefetch(Lanes const& lanes, std::size_t begin) const {
    if (begin >= n) return;
    auto const later = static_cast<std::size_t>(thread::count_before(begin, n, part));
    lanes.each([&](int lane) {
      collective::prefetch(keys + begin, later, lane, width);
      if constexpr (Values::in_memory) collective::prefetch(source.values + begin, later, lane, width);
    });
  }

  // Compares each key with the one before it. The first element of all is a head, places behind the end are none.
  KOKKOS_FUNCTION void find_heads(Lanes const& lanes, std::size_t begin, int mine,
                                  typename Lanes::template Value<Keys> const& own_keys,
                                  typename Lanes::template Value<Heads>& heads) const {
    Key earlier = begin > 0 ? keys[begin - 1] : Key(0);
    TESSERA_UNROLL
    for (int row = 0; row < rows; ++row) {
      auto last = lanes.template fill<Key>(Key(0));
      lanes.each([&](int, Key& key, Keys const& own) { key = own.at[row][pack - 1]; }, last, own_keys);
      auto const left = lanes.shift_up(last, 1);
      Key const before_row = earlier;
      lanes.each(
          [&](int lane, Heads& own_heads, Keys const& own, Key const& of_left) {
            Key previous = lane == 0 ? before_row : of_left;
            std::uint32_t bits = 0;
            for (int e = 0; e < pack; ++e) {
              Key const key = own.at[row][e];
              bits |= (key != previous ? 1U : 0U) << e;
              previous = key;
            }
            if (begin == 0 && row == 0 && lane == 0) bits |= 1U;
            if (mine < part) {
              int const valid = mine - thread::row_offset<width, pack>(row, lane, 0);
              bits &= valid <= 0 ? 0U : ~0U >> (32 - Kokkos::min(valid, 32));
            }
            own_heads.of_row[row] = bits;
          },
          heads, own_keys, left);
      earlier = lanes.template read<Key>(last, width - 1);
    }
  }

  // Returns the state of the thread's part, and for each lane the states before its packs.
  [[nodiscard]] KOKKOS_FUNCTION State scan(Lanes const& lanes, typename Lanes::template Value<Folded> const& values,
                                           typename Lanes::template Value<Heads> const& heads,
                                           typename Lanes::template Value<Before>& before_rows) const {
    State total = op.identity();
    TESSERA_UNROLL
    for (int row = 0; row < rows; ++row) {
      auto states = lanes.template fill<State>(op.identity());
      lanes.each(
          [&](int, State& state, Folded const& own, Heads const& own_heads) {
            std::uint32_t const bits = own_heads.of_row[row];
            state.heads = static_cast<std::uint32_t>(Kokkos::Experimental::popcount_builtin(bits));
            for (int e = 0; e < pack; ++e) fold(state.value, (bits & (1U << e)) != 0, own.at[row][e]);
          },
          states, values, heads);
      thread::inclusive_scan(lanes, states, op);
      auto const before = thread::exclusive_from_inclusive(lanes, states, op.identity());
      State const carry = total;
      lanes.each([&](int, Before& kept, State const& own) { kept.of_row[row] = op(carry, own); }, before_rows, before);
      total = op(carry, lanes.template read<State>(states, width - 1));
    }
    return total;
  }
};

/// The common part of ReduceByKey, RunLengths and ScanByKey.
template <ExecutionSpace Exec, class Key, class V, class Op, class Values, class Tuning, bool scans = false>
class RunsPass {
  using Kernel = RunsKernel<Exec, Key, V, Op, Values, Tuning, scans>;

 public:
  RunsPass(Exec const& exec, std::size_t n, Op const& op, std::int64_t team, std::string const& label)
      : label_(label + "::runs"),
        op_(op),
        n_(checked(n)),
        threads_(threads_of(exec, team)),
        // At least one tile, even without elements, because a tile writes the count.
        tiles_(std::max<std::size_t>(1, tiles_of(n, static_cast<std::size_t>(threads_) * Kernel::part))),
        league_(league_of(tiles_)),
        launch_(exec, threads_, Kernel::scratch_bytes(threads_)),
        look_back_(label, tiles_) {}

  /// Returns the roundings on the longest path to a result. In the worst case a run goes through all tiles.
  [[nodiscard]] double rounding_steps() const {
    double const lanes = 2 * std::log2(Kernel::width);
    return Kernel::rows * Kernel::pack + lanes + threads_ + 8 + static_cast<double>(tiles_);
  }

 protected:
  [[nodiscard]] std::size_t size() const { return n_; }

  void enqueue(Exec const& exec, Key const* keys, Values const& values, Key* unique_keys, V* results,
               std::int64_t* count) {
    int const tile = threads_ * Kernel::part;
    Kernel const kernel{{op_},
                        keys,
                        values,
                        unique_keys,
                        results,
                        count,
                        n_,
                        tiles_,
                        Tuning::ahead(exec, static_cast<std::size_t>(tile) * (sizeof(V) + sizeof(Key))),
                        look_back_.next_launch(exec, Tuning::patience)};
    launch_(label_, exec, league_, kernel);
  }

 private:
  [[nodiscard]] static int threads_of(Exec const& exec, std::int64_t team) {
    int const most = Tuning::most_lanes / Kernel::vector_length;
    int const threads = team_size(exec, team == 0 && is_gpu<Exec> ? most : team, Kernel::vector_length);
    if (is_gpu<Exec> && threads > most) {
      throw Skip("a team of " + std::to_string(threads) + " threads (it has at most " + std::to_string(most) +
                 " here)");
    }
    return threads;
  }

  // Lengths are 32-bit integers, and numbers of runs share a word with their flag.
  [[nodiscard]] static std::size_t checked(std::size_t n) {
    if (n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw Skip(std::to_string(n) + " elements (runs are counted in 32 bits: at most 2^31 - 1)");
    }
    return n;
  }

  std::string label_;
  Op op_;
  std::size_t n_;
  int threads_;
  std::size_t tiles_;
  int league_;  // one team per tile
  LargeScratchLaunch<Exec, Kernel> launch_;
  LookBackWorkspace<Exec, RunState<V>> look_back_;
};

}  // namespace detail

/// One fold of values per run of equal neighbouring keys. Op: associative with an identity, on T. Key: an integer or a
/// float of 32 or 64 bits.
///
/// Construct it once: chooses tiles and allocates one word per tile, and two values per tile if they do not fit into
/// it. A call only enqueues; calls on one object must not run concurrently. The order of additions, and so the bits of
/// floating-point sums, depends on which tiles have finished.
template <ExecutionSpace Exec, class T, class Op = collective::Sum<T>, class Key = std::int32_t,
          class Tuning = ReduceByKeyTuning<Exec, T, Key>>
class ReduceByKey : public detail::RunsPass<Exec, Key, T, Op, detail::ValuesOfArray<T>, Tuning> {
 public:
  /// \param n elements of each array; throws Skip above 2^31 - 1
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them.
  /// \param label kernel name that Kokkos Tools reports
  explicit ReduceByKey(Exec const& exec, std::size_t n, Op const& op = {}, std::int64_t team = 0,
                       std::string const& label = "tessera::reduce_by_key")
      : ReduceByKey::RunsPass(exec, n, op, team, label) {}

  /// Enqueues. All arrays [n] must be contiguous; `unique_keys` and `results` must not overlap the others. As many of
  /// their elements are written as there are runs; `count` gets this number. Throws std::invalid_argument for other
  /// Views.
  template <Readable<Exec, Key, 1> Keys, Readable<Exec, T, 1> Values, Writable<Exec, Key, 1> Unique,
            Writable<Exec, T, 1> Results, Writable<Exec, std::int64_t, 0> Count>
  void operator()(Exec const& exec, Keys const& keys, Values const& values, Unique const& unique_keys,
                  Results const& results, Count const& count) {
    require_apart(unique_keys, keys, values, results);
    require_apart(results, keys, values);
    std::size_t const n = this->size();
    this->enqueue(exec, contiguous(keys, n), {contiguous(values, n)}, contiguous(unique_keys, n),
                  contiguous(results, n), count.data());
  }
};

/// The length of each run of equal neighbouring keys, or only its key. Otherwise as ReduceByKey; the result is exact.
template <ExecutionSpace Exec, class Key = std::int32_t, class Tuning = RunsTuning<Exec, std::int32_t, Key>>
class RunLengths : public detail::RunsPass<Exec, Key, std::int32_t, collective::Sum<std::int32_t>,
                                           detail::OneEach<std::int32_t>, Tuning> {
 public:
  explicit RunLengths(Exec const& exec, std::size_t n, std::int64_t team = 0,
                      std::string const& label = "tessera::run_lengths")
      : RunLengths::RunsPass(exec, n, {}, team, label) {}

  /// Enqueues. `keys`, `unique_keys` and `lengths` [n] must be contiguous and must not overlap.
  template <Readable<Exec, Key, 1> Keys, Writable<Exec, Key, 1> Unique, Writable<Exec, std::int32_t, 1> Lengths,
            Writable<Exec, std::int64_t, 0> Count>
  void operator()(Exec const& exec, Keys const& keys, Unique const& unique_keys, Lengths const& lengths,
                  Count const& count) {
    require_apart(unique_keys, keys, lengths);
    require_apart(lengths, keys);
    std::size_t const n = this->size();
    this->enqueue(exec, contiguous(keys, n), {}, contiguous(unique_keys, n), contiguous(lengths, n), count.data());
  }

  /// Enqueues. Writes only the keys.
  template <Readable<Exec, Key, 1> Keys, Writable<Exec, Key, 1> Unique, Writable<Exec, std::int64_t, 0> Count>
  void operator()(Exec const& exec, Keys const& keys, Unique const& unique_keys, Count const& count) {
    require_apart(unique_keys, keys);
    std::size_t const n = this->size();
    this->enqueue(exec, contiguous(keys, n), {}, contiguous(unique_keys, n), nullptr, count.data());
  }
};

/// The fold of each element's run up to the element, itself included: a scan that restarts at each run. Otherwise as
/// ReduceByKey.
template <ExecutionSpace Exec, class T, class Op = collective::Sum<T>, class Key = std::int32_t,
          class Tuning = RunsTuning<Exec, T, Key>>
class ScanByKey : public detail::RunsPass<Exec, Key, T, Op, detail::ValuesOfArray<T>, Tuning, true> {
 public:
  explicit ScanByKey(Exec const& exec, std::size_t n, Op const& op = {}, std::int64_t team = 0,
                     std::string const& label = "tessera::scan_by_key")
      : ScanByKey::RunsPass(exec, n, op, team, label) {}

  /// Enqueues. All arrays [n] must be contiguous; `out` must not overlap the others. Throws std::invalid_argument for
  /// other Views.
  template <Readable<Exec, Key, 1> Keys, Readable<Exec, T, 1> Values, Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, Keys const& keys, Values const& values, Out const& out) {
    require_apart(out, keys, values);
    std::size_t const n = this->size();
    this->enqueue(exec, contiguous(keys, n), {contiguous(values, n)}, nullptr, contiguous(out, n), nullptr);
  }
};

/// results[j] = fold of the values of run j of equal neighbouring keys, unique_keys[j] its key, count the number of
/// runs. All arrays [n], count one element. Convenience for a single call: allocates, enqueues and waits.
template <ExecutionSpace Exec, class Keys, class Values, class Unique, class Results, class Count,
          class Op = collective::Sum<typename Values::non_const_value_type>>
void reduce_by_key(Exec const& exec, Keys const& keys, Values const& values, Unique const& unique_keys,
                   Results const& results, Count const& count, Op const& op = {}) {
  ReduceByKey<Exec, typename Values::non_const_value_type, Op, typename Keys::non_const_value_type> kernel(
      exec, keys.extent(0), op);
  kernel(exec, keys, values, unique_keys, results, count);
  exec.fence("tessera: reduce_by_key");  // the kernel's memory is freed at the end of this call
}

/// lengths[j] = length of run j of equal neighbouring keys, unique_keys[j] its key, count the number of runs. Otherwise
/// as reduce_by_key.
template <ExecutionSpace Exec, class Keys, class Unique, class Lengths, class Count>
void run_lengths(Exec const& exec, Keys const& keys, Unique const& unique_keys, Lengths const& lengths,
                 Count const& count) {
  RunLengths<Exec, typename Keys::non_const_value_type> kernel(exec, keys.extent(0));
  kernel(exec, keys, unique_keys, lengths, count);
  exec.fence("tessera: run_lengths");
}

/// unique_keys[j] = key of run j of equal neighbouring keys, count the number of runs. Otherwise as reduce_by_key.
template <ExecutionSpace Exec, class Keys, class Unique, class Count>
void unique(Exec const& exec, Keys const& keys, Unique const& unique_keys, Count const& count) {
  RunLengths<Exec, typename Keys::non_const_value_type> kernel(exec, keys.extent(0));
  kernel(exec, keys, unique_keys, count);
  exec.fence("tessera: unique");
}

/// out[i] = fold of values[h] to values[i], where h is the first element of i's run of equal neighbouring keys. All
/// arrays [n]. Otherwise as reduce_by_key.
///
/// Example: keys 7 7 2 2 2 7, values 1 2 3 4 5 6 -> 1 3 3 7 12 6.
template <ExecutionSpace Exec, class Keys, class Values, class Out,
          class Op = collective::Sum<typename Values::non_const_value_type>>
void scan_by_key(Exec const& exec, Keys const& keys, Values const& values, Out const& out, Op const& op = {}) {
  ScanByKey<Exec, typename Values::non_const_value_type, Op, typename Keys::non_const_value_type> kernel(
      exec, keys.extent(0), op);
  kernel(exec, keys, values, out);
  exec.fence("tessera: scan_by_key");
}

}  // namespace tessera::kernels
