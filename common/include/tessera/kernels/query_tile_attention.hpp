#pragma once
/// \file
/// Attention for many queries: a team handles a tile of queries, and tiles of keys and values pass through its scratch.
///
/// The 16 lanes of a thread compute the scores of `rows` queries and a tile of keys in registers. They compute
/// exponentials relative to the largest score so far, and add the weighted values to sums that stay in registers from
/// the first key to the last: no score is written to memory. A lane passes its weights to the other lanes of its thread
/// through a small scratch area of the thread, 16 keys at a time.
///
/// Packs of a row in scratch are permuted (pack p of row r is at p xor r mod 8), so that lanes that read the same
/// columns of neighbouring keys have no bank conflicts.
///
/// Traffic: q once; k and v once per tile of queries, mostly from the cache.
///
/// Example, one query, two keys with scores 0 and ln 3: out = (v_0 + 3 v_1) / 4.
///
/// Use:  QueryTileAttention<Exec, float> attend(exec, queries, keys, dim);  attend(exec, q, k, v, out, scale);
///
/// Source: Dao, Fu, Ermon, Rudra and Ré, FlashAttention (2022).

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/attention/attention_pieces.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::kernels {

/// Sizes of the teams and tiles of QueryTileAttention.
template <ExecutionSpace Exec, class T>
struct QueryTileTuning {
  static constexpr int lanes = 16;            ///< per thread; a multiple of 8, because rows of a tile are permuted
  static constexpr int rows = 8;              ///< queries per thread
  static constexpr int tile_bytes = 1 << 14;  ///< of a tile of keys, of values, or of a whole team's queries
  /// True: a team is as large as its tile of queries requires, with launch bounds. False: as large as the caller
  /// requests.
  static constexpr bool whole_teams = is_gpu<Exec>;
  /// The level of scratch. On a host both levels are the same memory, but only level 1 is large enough.
  static constexpr int near_level = is_gpu<Exec> ? 0 : 1;
};

namespace detail {

/// The kernel of one team: `rows` queries per thread, and one chunk of the keys.
///
/// \tparam Dim columns of a row in the tiles, 64, 128 or 256, at least as many as the problem has
template <ExecutionSpace Exec, class T, class Tuning, int Dim>
struct QueryTile {
  static constexpr int width = Tuning::lanes;
  using Lanes = lane::On<Exec, width>;
  static constexpr int vector_length = lane::vector_length<Exec>(width);
  static constexpr int rows = Tuning::rows;
  static constexpr int pack = collective::pack_width<T>;
  using Pack = collective::Pack<T, pack>;
  static constexpr int tile_elements = Tuning::tile_bytes / static_cast<int>(sizeof(T));
  static constexpr int keys = std::max(width, tile_elements / Dim);  // per tile
  static constexpr int keys_of_lane = keys / width;
  static constexpr int columns = Dim / width;  // of the sums, per lane
  static constexpr int packs = Dim / pack;     // per row
  static_assert(packs % 8 == 0 && columns % pack == 0 && rows % pack == 0);
  static_assert(width % 8 == 0);  // so that all rows that a lane reads, lane + width * i, have the same permutation
  /// Threads per tile of queries.
  static constexpr int whole_threads = std::max(1, tile_elements / Dim / rows);
  static constexpr int lanes_of_team = whole_threads * width;
  using Policy = Kokkos::TeamPolicy<
      Exec, std::conditional_t<Tuning::whole_teams, TeamBounds<Exec, lanes_of_team, std::min(512 / lanes_of_team, 4)>,
                               Kokkos::LaunchBounds<>>>;
  using Member = typename Policy::member_type;
  using Scratch = ScratchView<Pack*, Exec>;

  static constexpr int tile_packs = keys * packs;
  // One more pack between threads: all threads read the same place of their weights at once, which is then in different
  // banks.
  static constexpr int weights_of_thread = (width * rows) / pack + 2;
  // If tiles of keys and queries do not fit together into the near level, the queries are in level 1.
  static constexpr int near_level = Tuning::near_level;
  static constexpr bool fit_together = (tile_packs + whole_threads * (rows * packs + weights_of_thread)) * 16 <= 40000;
  static constexpr int query_level = fit_together ? near_level : 1;

  using Scores = Kokkos::Array<Kokkos::Array<T, keys_of_lane>, rows>;
  using Sums = Kokkos::Array<Kokkos::Array<T, columns>, rows>;
  using OfRows = Kokkos::Array<T, rows>;
  template <class V>
  using Value = typename Lanes::template Value<V>;

  AttentionTask<T> task;
  bool aligned;  // every row of q, k, v and the results is aligned for packs and consists of whole packs

  [[nodiscard]] static int threads_for(Exec const& exec, std::int64_t requested) {
    if constexpr (Tuning::whole_teams) {
      require_team_of_tile(requested, whole_threads, "a tile of queries");
      return whole_threads;
    } else {
      return team_size(exec, requested);
    }
  }
  [[nodiscard]] static int groups(AttentionTask<T> const& task, int threads) {
    return league_of(tiles_of(task.queries, static_cast<std::size_t>(threads) * rows));
  }

  void enqueue(std::string const& label, Exec const& exec, int threads) const {
    if (task.queries == 0) return;
    auto const teams = static_cast<std::size_t>(groups(task, threads)) * task.chunks.count;
    launch(label, exec, league_of(teams), threads, *this);
  }

  /// Enqueues this kernel or one derived from it, with the scratch that a team needs.
  template <class Kernel>
  static void launch(std::string const& label, Exec const& exec, int teams, int threads, Kernel const& kernel) {
    Policy const policy(exec, teams, threads, vector_length);
    std::size_t const here = Scratch::shmem_size(tile_packs) + Scratch::shmem_size(threads * weights_of_thread);
    std::size_t const of_queries = Scratch::shmem_size(threads * rows * packs);
    Kokkos::parallel_for(label,
                         query_level == near_level
                             ? with_scratch(policy, here + of_queries, near_level)
                             : with_scratch(with_scratch(policy, here, near_level), of_queries, query_level),
                         kernel);
  }

  /// Returns the roundings: of the additions of all keys one after the other, and per tile of an exponential (4) and a
  /// product with the previous sums; of a weight; of the lanes' totals; of the quotient.
  [[nodiscard]] static double rounding_steps(std::size_t chunk) {
    double const tiles = std::ceil(static_cast<double>(chunk) / keys);
    return static_cast<double>(chunk) + 6 * tiles + 6 + std::log2(width) + 2;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    int const threads = team.team_size();
    int const thread = team.team_rank();
    Scratch const tile_scratch(team.team_scratch(int{near_level}), tile_packs);
    Scratch const weight_scratch(team.team_scratch(int{near_level}), threads * weights_of_thread);
    Scratch const query_scratch(team.team_scratch(int{query_level}), threads * rows * packs);
    Pack* const tile = tile_scratch.data();
    T* const weights = reinterpret_cast<T*>(weight_scratch.data() + thread * weights_of_thread);

    // Neighbouring teams handle the same keys for other queries, so that the keys are in the cache.
    auto const of_team = static_cast<std::size_t>(threads) * rows;
    int const group_count = static_cast<int>((task.queries + of_team - 1) / of_team);
    int const piece = team.league_rank() / group_count;
    std::size_t const first_query = static_cast<std::size_t>(team.league_rank() - piece * group_count) * of_team;
    int const query_count =
        task.queries - first_query < of_team ? static_cast<int>(task.queries - first_query) : static_cast<int>(of_team);
    load(team, task.q + first_query * task.dim, task.dim, query_count, threads * rows, rows, query_scratch.data());

    auto sums = lanes.template fill<Sums>(Sums{});
    auto largest = lanes.template fill<OfRows>(OfRows{});
    auto total = lanes.template fill<OfRows>(OfRows{});  // of this lane's keys
    lanes.each(
        [](int, OfRows& own) {
          for (int r = 0; r < rows; ++r) own[r] = collective::minus_infinity<T>();
        },
        largest);
    std::size_t const end = task.chunks.end(piece);
    for (std::size_t first = task.chunks.begin(piece); first < end; first += keys) {
      int const count = end - first < keys ? static_cast<int>(end - first) : keys;
      load(team, task.k + first * task.dim, task.dim, count, keys, 1, tile);
      team.team_barrier();
      auto score = lanes.template fill<Scores>(Scores{});
      multiply(lanes, query_scratch.data() + thread * rows * packs, thread & 7, tile, count, score);
      team.team_barrier();  // all have read the keys
      load(team, task.v + first * task.dim, task.dim, count, keys, 1, tile);
      weigh(lanes, score, largest, total, sums);
      team.team_barrier();
      add_values(lanes, score, tile, weights, sums);
      team.team_barrier();  // all have read the values
    }
    std::size_t const query = first_query + thread * rows;
    finish(
        lanes, query_count - thread * rows, [&](int r) { return task.row(query + r, piece); },
        [&](int r, collective::OnlineSum<T> const& all) { task.keep(query + r, piece, all); }, largest, total, sums);
    mend(team, task, first_query, query_count, piece);
    leave_scratch(team);
  }

 protected:
  // Loads rows of a matrix to scratch, with the whole team, and zeros past the last row or column.
  // \param stride elements from one row to the next
  // \param group rows with the same permutation
  KOKKOS_FUNCTION void load(Member const& team, T const* from, int stride, int count, int row_count, int group,
                            Pack* to) const {
    int const dim = task.dim;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, row_count * packs), [&](int i) {
      int const row = i / packs;
      int const p = i % packs;
      int const col = p * pack;
      Pack values{};
      if (row < count && col < dim) {
        T const* const at = from + static_cast<std::size_t>(row) * stride + col;
        if (aligned) {
          values = collective::pack_at<pack>(at);
        } else {
          for (int e = 0; e < pack; ++e) values[e] = col + e < dim ? at[e] : T(0);
        }
      }
      to[row * packs + (p ^ (row / group & 7))] = values;
    });
  }

  // Computes the scores of the thread's queries and the lane's keys, lane + width * i; -infinity past the last key.
  KOKKOS_FUNCTION void multiply(Lanes const& lanes, Pack const* queries, int swap, Pack const* tile, int count,
                                Value<Scores>& score) const {
    lanes.each(
        [&](int lane, Scores& own) {
          Pack const* const key_rows = tile + lane * packs;
          int const key_swap = lane & 7;  // of all keys of this lane
          for (int p = 0; p < packs; ++p) {
            Pack key[keys_of_lane];
            for (int i = 0; i < keys_of_lane; ++i) key[i] = key_rows[i * width * packs + (p ^ key_swap)];
            for (int r = 0; r < rows; ++r) {
              Pack const query = queries[r * packs + (p ^ swap)];
              for (int i = 0; i < keys_of_lane; ++i) {
                for (int e = 0; e < pack; ++e) own[r][i] += query[e] * key[i][e];
              }
            }
          }
          for (int i = 0; i < keys_of_lane; ++i) {
            bool const inside = lane + i * width < count;
            for (int r = 0; r < rows; ++r) {
              own[r][i] = inside ? own[r][i] * task.scale : collective::minus_infinity<T>();
            }
          }
        },
        score);
  }

  // Turns scores into weights and rescales the previous sums to the new maximum.
  KOKKOS_FUNCTION static void weigh(Lanes const& lanes, Value<Scores>& score, Value<OfRows>& largest,
                                    Value<OfRows>& total, Value<Sums>& sums) {
    for (int r = 0; r < rows; ++r) {
      auto of_lane = lanes.template fill<T>(T(0));
      lanes.each(
          [r](int, T& most, Scores const& own, OfRows const& known) {
            most = known[r];
            for (int i = 0; i < keys_of_lane; ++i) most = collective::Max<T>{}(most, own[r][i]);
          },
          of_lane, score, largest);
      T const raised = thread::reduce<T>(lanes, of_lane, collective::Max<T>{});
      lanes.each(
          [&](int, Scores& own, OfRows& known, OfRows& t, Sums& s) {
            T const factor = rescaling(known[r], raised);
            known[r] = raised;
            t[r] *= factor;
            for (int i = 0; i < keys_of_lane; ++i) {
              own[r][i] = weight_of(own[r][i], raised);
              t[r] += own[r][i];
            }
            for (int c = 0; c < columns; ++c) s[r][c] *= factor;
          },
          score, largest, total, sums);
    }
  }

  // Adds the weighted values. Lane l has the sums of the packs that begin at columns (width * p + l) * pack.
  KOKKOS_FUNCTION static void add_values(Lanes const& lanes, Value<Scores> const& weight, Pack const* tile, T* weights,
                                         Value<Sums>& sums) {
    for (int i = 0; i < keys_of_lane; ++i) {
      lanes.each(
          [&](int lane, Scores const& own) {
            for (int r = 0; r < rows; ++r) weights[lane * rows + r] = own[r][i];
          },
          weight);
      lanes.sync();
      lanes.each(
          [&](int lane, Sums& own) {
#if defined(__HIP_DEVICE_COMPILE__)  // hipcc would unroll all keys: registers for hundreds of loads spill
#pragma unroll 2
#endif
            for (int k = 0; k < width; ++k) {
              Pack of_rows[rows / pack];
              for (int p = 0; p < rows / pack; ++p)
                of_rows[p] = collective::pack_at<pack>(weights + k * rows + p * pack);
              for (int c = 0; c < columns / pack; ++c) {
                Pack const value = tile[(i * width + k) * packs + ((c * width + lane) ^ (k & 7))];
                for (int r = 0; r < rows; ++r) {
                  for (int e = 0; e < pack; ++e) own[r][c * pack + e] += of_rows[r / pack][r % pack] * value[e];
                }
              }
            }
          },
          sums);
      lanes.sync();
    }
  }

  // Stores the means of the thread's first `count` queries: of query r to row_of(r), and calls keep(r, its OnlineSum).
  template <class RowOf, class Keep>
  KOKKOS_FUNCTION void finish(Lanes const& lanes, int count, RowOf const& row_of, Keep const& keep,
                              Value<OfRows> const& largest, Value<OfRows> const& total, Value<Sums> const& sums) const {
    for (int r = 0; r < rows; ++r) {
      auto of_lane = lanes.template fill<T>(T(0));
      lanes.each([r](int, T& own, OfRows const& t) { own = t[r]; }, of_lane, total);
      T const sum = thread::reduce<T>(lanes, of_lane, collective::Sum<T>{});
      if (r >= count) continue;
      T* const row = row_of(r);
      lanes.each(
          [&](int lane, OfRows const& m, Sums const& own) {
            collective::OnlineSum<T> const all{m[r], sum};
            T const factor = to_mean(all, task.answers());
            for (int c = 0; c < columns / pack; ++c) {
              int const col = (c * width + lane) * pack;
              Pack values;
              for (int e = 0; e < pack; ++e) values[e] = own[r][c * pack + e] * factor;
              if (aligned) {
                if (col < task.dim) collective::pack_at<pack>(row + col) = values;
              } else {
                for (int e = 0; e < pack; ++e) {
                  if (col + e < task.dim) row[col + e] = values[e];
                }
              }
            }
            if (lane == 0) keep(r, all);
          },
          largest, sums);
    }
  }
};

}  // namespace detail

/// out = softmax(scale * q k^T) v, for many queries. A team processes all keys, so that few queries would leave most of
/// a machine idle.
///
/// Construct it once: chooses the kernel. A call only enqueues. Calls share no memory and may run concurrently.
template <ExecutionSpace Exec, class T, class Tuning = QueryTileTuning<Exec, T>>
class QueryTileAttention : public AttentionOfViews<QueryTileAttention<Exec, T, Tuning>, Exec, T> {
  using Base = AttentionOfViews<QueryTileAttention, Exec, T>;

 public:
  /// \param queries, dim extents of q [queries, dim]
  /// \param keys rows of k and v [keys, dim]; a call that writes a piece may have fewer
  /// \param team threads per team; 0: choose
  /// \param label kernel name that Kokkos Tools reports
  ///
  /// Throws Skip if the space cannot provide the threads, or if dim is above most_columns.
  QueryTileAttention(Exec const& exec, std::size_t queries, std::size_t keys, std::size_t dim, std::int64_t team = 0,
                     std::string const& label = "tessera::attention")
      : Base(queries, keys, dim, label + "::attend") {
    if (dim > Base::most_columns) throw Skip("d = " + std::to_string(dim) + " (a tile has at most 256 columns)");
    choose([&]<class Kernel>() {
      threads_ = Kernel::threads_for(exec, team);
      (void)Kernel::groups(task_, threads_);
      steps_ = Kernel::rounding_steps(task_.chunks.n);
    });
  }

  // Called by Base.
  void enqueue(Exec const& exec, detail::AttentionTask<T> const& task) const {
    choose([&]<class Kernel>() { Kernel{task, detail::is_aligned(task)}.enqueue(label_, exec, threads_); });
  }

 private:
  /// Calls body.operator()<Kernel>() with the kernel for rows of this length.
  template <class Body>
  void choose(Body const& body) const {
    if (task_.dim <= 64) return body.template operator()<detail::QueryTile<Exec, T, Tuning, 64>>();
    if (task_.dim <= 128) return body.template operator()<detail::QueryTile<Exec, T, Tuning, 128>>();
    body.template operator()<detail::QueryTile<Exec, T, Tuning, 256>>();
  }

  using Base::label_, Base::steps_, Base::task_;
  int threads_ = 1;
};

}  // namespace tessera::kernels
