#pragma once
/// \file
/// Attention for few queries and any number of keys: keys and values are read once, and several lanes share a key.
///
/// A lane holds `columns` columns of `queries` queries, and of their sums, in registers. A group of `share` lanes
/// together holds a row. A thread has `groups` of these groups side by side, each of which handles `keys` keys at a
/// time. Every lane multiplies its columns. Then the lanes of a group exchange halves of their products and add the
/// received half to the half they kept, until each lane has the complete score of one pair of key and query (15
/// exchanges instead of 64 for 16 lanes and 16 pairs). Each lane computes the exponential of its score, relative to a
/// score that is not far below the largest one; all lanes read the weights from scratch for the weighted sum. At the
/// end the groups add up their sums, and the threads of a team merge their pieces in scratch, halving the number of
/// threads in each step.
///
/// Traffic: k and v are read once per `queries` queries.
///
/// If the machine has more teams than queries, the keys are split into chunks, and a second launch merges the pieces of
/// each query, one per chunk (attention_pieces.hpp). The result is bitwise reproducible.
///
/// Example, one query, two keys with scores 0 and ln 3: out = (v_0 + 3 v_1) / 4.
///
/// Use:  KeyStreamAttention<Exec, float> attend(exec, queries, keys, dim);  attend(exec, q, k, v, out, scale);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/attention/attention_pieces.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::kernels {

/// How KeyStreamAttention distributes rows over lanes, and how it merges.
template <ExecutionSpace Exec, class T>
struct KeyStreamTuning {
  static constexpr int lanes = is_gpu<Exec> ? 32 : 8;  ///< per thread: a warp, or a host's vector of floats
  /// Lanes that share a row, and columns per lane, for rows of up to 32, 64, 128 and 256 columns. On a GPU a lane has
  /// 16 bytes of a row of floats, and more only if a warp has too few lanes.
  static constexpr int share[] = {8, is_gpu<Exec> ? 16 : 8, is_gpu<Exec> ? 32 : 8, is_gpu<Exec> ? 32 : 8};
  static constexpr int columns[] = {4, is_gpu<Exec> ? 4 : 8, is_gpu<Exec> ? 4 : 16, is_gpu<Exec> ? 8 : 32};
  static constexpr int queries = 8;  ///< that share each loaded key, if there is more than one
  /// True: one kernel for rows of any length and alignment. Vector accesses of a host need no alignment, and the test
  /// for an incomplete pack is hidden by the memory access. False: rows of whole packs of 16 bytes have their own
  /// kernel.
  static constexpr bool any_row = !is_gpu<Exec>;
  static constexpr int scratch_level = is_gpu<Exec> ? 0 : 1;  ///< a host's level 0 is small
  /// Divisor of teams_that_fill() that gives the resident teams (512 lanes with 128 registers per multiprocessor of a
  /// GPU): more teams would only have more to merge.
  static constexpr int of_teams = is_gpu<Exec> ? 8 : 1;
  static constexpr int merge_threads = is_gpu<Exec> ? 512 : 0;  ///< per team that merges; 0: the user's choice
  static constexpr int merge_across = is_gpu<Exec> ? 16 : 256;  ///< columns of a merging team, whole packs
};

namespace detail {

/// The kernel of one team: some queries and one chunk of the keys.
///
/// \tparam Share lanes that share a row, a power of two
/// \tparam Columns columns of a row per lane; the lanes together hold at least the row
/// \tparam Queries queries that are processed together, a power of two, at most `Share`
/// \tparam Width columns per access. If it is above 1, rows are aligned for it and a multiple of it, unless the Tuning
///        accepts any row.
template <ExecutionSpace Exec, class T, class Tuning, int Share, int Columns, int Queries, int Width>
struct KeyStream {
  // Whether sums, queries, keys, values and products need so many registers that only one team is resident, instead of
  // two.
  static constexpr bool is_large = Columns * Queries * sizeof(T) > 128;
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<256, (is_large ? 1 : 2)>>;
  using Member = typename Policy::member_type;
  static constexpr int width = Tuning::lanes;
  static_assert(Share <= width && Queries <= Share, "Tessera: a pair of key and query for each lane of a group");
  using Lanes = lane::On<Exec, width>;
  static constexpr int vector_length = lane::vector_length<Exec>(width);
  static constexpr int queries = Queries;
  static constexpr int groups = width / Share;
  // Keys that a group handles at a time: at most one pair of key and query per lane, and no more than fit into
  // registers. In the large form hipcc spills with 16 columns of keys; with 8 columns registers remain for a second
  // team.
  static constexpr int key_columns = is_hip<Exec> && is_large ? 8 : 16;
  static constexpr int keys = std::max(1, std::min({Share / Queries, key_columns / Columns, 16 / Queries}));
  static constexpr int pairs = Queries * keys;
  static constexpr int block = groups * keys;  // keys per thread at a time
  static constexpr int slack = 8;              // a weight is at most e^slack
  static constexpr bool any_row = Tuning::any_row;
  static_assert((pairs & (pairs - 1)) == 0 && pairs <= Share, "Tessera: one pair per lane");

  using Row = Kokkos::Array<T, Columns>;
  using Block = Kokkos::Array<Row, keys>;
  using Rows = Kokkos::Array<Row, Queries>;
  using Products = Kokkos::Array<T, pairs>;
  template <class V>
  using Value = typename Lanes::template Value<V>;

  using View = ScratchView<T*, Exec>;
  static constexpr int weight_pack = std::min(pairs, collective::pack_width<T>);
  using WeightView = ScratchView<collective::Pack<T, weight_pack>*, Exec>;
  static constexpr int slot = Queries * (Share * Columns + 2);  // elements that a thread passes on
  static constexpr int scratch_level = Tuning::scratch_level;

  AttentionTask<T> task;

  [[nodiscard]] static int most_threads() {
    return std::max(1, 2 * ((1 << 14) / (slot * static_cast<int>(sizeof(T)))));
  }
  [[nodiscard]] std::size_t query_groups() const { return tiles_of(task.queries, Queries); }
  [[nodiscard]] int league() const { return league_of(query_groups() * task.chunks.count); }

  void enqueue(std::string const& label, Exec const& exec, int threads) const {
    if (task.queries == 0) return;
    Policy const policy(exec, league(), threads, vector_length);
    std::size_t const scratch = View::shmem_size(slot * std::max(1, threads / 2)) +
                                WeightView::shmem_size(groups * pairs / weight_pack * threads);
    Kokkos::parallel_for(label, with_scratch(policy, scratch, scratch_level), *this);
  }

  /// Returns the roundings: of a thread's keys, `keys` at a time, each with an exponential (4), a product and
  /// additions, and as many for the previous sums; of the part of an exponential's argument above the maximum; of the
  /// merge of the threads' pieces; of the quotient.
  [[nodiscard]] static double rounding_steps(std::size_t chunk, int threads) {
    double const blocks = std::ceil(static_cast<double>(chunk) / block / threads);
    return blocks * (keys + 6) + 6 + slack + std::log2(groups) + 12 * (std::ceil(std::log2(threads)) + 1) +
           std::log2(width) + 2;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    View const scratch(team.team_scratch(int{scratch_level}),
                       slot * (team.team_size() / 2 > 0 ? team.team_size() / 2 : 1));
    WeightView const weight_scratch(team.team_scratch(int{scratch_level}),
                                    groups * pairs / weight_pack * team.team_size());
    // Neighbouring teams handle the same keys for other queries, so that the keys are in the cache.
    int const group_count = static_cast<int>((task.queries + Queries - 1) / Queries);
    int const piece = team.league_rank() / group_count;
    std::size_t const first_query = static_cast<std::size_t>(team.league_rank() - piece * group_count) * Queries;
    int const query_count =
        task.queries - first_query < Queries ? static_cast<int>(task.queries - first_query) : Queries;

    T* const weights = reinterpret_cast<T*>(weight_scratch.data()) + team.team_rank() * groups * pairs;

    auto query = lanes.template fill<Rows>(Rows{});
    lanes.each(
        [&](int lane, Rows& own) {
          for (int q = 0; q < Queries; ++q) {
            if (q < query_count) load(task.q + (first_query + q) * task.dim, lane, own[q]);
          }
        },
        query);
    auto sums = lanes.template fill<Rows>(Rows{});
    auto largest = lanes.template fill<T>(collective::minus_infinity<T>());  // of query lane % Queries, as `total`
    auto total = lanes.template fill<T>(T(0));                               // of this lane's keys
    std::size_t const end = task.chunks.end(piece);
    std::size_t const step = static_cast<std::size_t>(team.team_size()) * block;
    auto key_block = lanes.template fill<Block>(Block{});
    auto value_block = lanes.template fill<Block>(Block{});
    std::size_t first = task.chunks.begin(piece) + static_cast<std::size_t>(team.team_rank()) * block;
    auto const count_at = [&](std::size_t at) { return thread::count_before(at, end, block); };
    load_block(lanes, task.k + first * task.dim, count_at(first), key_block);
    load_block(lanes, task.v + first * task.dim, count_at(first), value_block);
    for (; first < end; first += step) {
      int const count = count_at(first);
      auto score = scores(lanes, query, key_block);
      // The next keys are in flight while this block's weights are computed, the next values while the next scores are.
      load_block(lanes, task.k + (first + step) * task.dim, count_at(first + step), key_block);
      lanes.each(
          [&](int lane, T& own) {
            int const key = lane % pairs / Queries * groups + lane / Share;
            own = key < count ? own * task.scale : collective::minus_infinity<T>();
          },
          score);
      add_block(lanes, score, value_block, weights, largest, total, sums);
      load_block(lanes, task.v + (first + step) * task.dim, count_at(first + step), value_block);
    }
    add_groups(lanes, total, sums);
    merge_threads(team, lanes, scratch.data(), largest, total, sums);
    if (team.team_rank() == 0) store(lanes, first_query, query_count, piece, largest, total, sums);
    mend(team, task, first_query, query_count, piece);
    leave_scratch(team);
  }

 private:
  // Neighbouring lanes of a group hold neighbouring packs of a row.
  [[nodiscard]] KOKKOS_FUNCTION static int column(int lane, int pack) { return (pack * Share + lane % Share) * Width; }

  // \tparam full every lane has all its columns
  template <bool full = false>
  KOKKOS_FUNCTION void load(T const* row, int lane, Row& own) const {
    for (int p = 0; p < Columns / Width; ++p) {
      int const col = column(lane, p);
      collective::Pack<T, Width> values{};
      if constexpr (full) {
        values = collective::load_pack<Width>(row + col);
      } else if constexpr (any_row) {
        if (col + Width <= task.dim) {
          values = collective::load_pack<Width>(row + col);
        } else {
          for (int e = 0; e < Width; ++e) values[e] = col + e < task.dim ? row[col + e] : T(0);
        }
      } else {
        if (col < task.dim) values = collective::pack_at<Width>(row + col);
      }
      for (int e = 0; e < Width; ++e) own[p * Width + e] = values[e];
    }
  }

  // Neighbouring groups hold neighbouring rows. Rows past the last one are zero, and so are their weights.
  KOKKOS_FUNCTION void load_block(Lanes const& lanes, T const* rows, int count, Value<Block>& to) const {
    if constexpr (any_row) {
      // The most frequent case: without a test per lane the compiler combines the lanes' loads.
      if (count == block && task.dim == Share * Columns) {
        lanes.each(
            [&](int lane, Block& own) {
              T const* const row = rows + lane / Share * task.dim;
              for (int k = 0; k < keys; ++k) load<true>(row + k * groups * task.dim, lane, own[k]);
            },
            to);
        return;
      }
    }
    lanes.each(
        [&](int lane, Block& own) {
          T const* const row = rows + lane / Share * task.dim;
          if (count == block) {
            for (int k = 0; k < keys; ++k) load(row + k * groups * task.dim, lane, own[k]);
            return;
          }
          for (int k = 0; k < keys; ++k) {
            own[k] = Row{};
            if (k * groups + lane / Share < count) load(row + k * groups * task.dim, lane, own[k]);
          }
        },
        to);
  }

  // Lane l gets the score of its group's key l % pairs / Queries for query l % Queries.
  KOKKOS_FUNCTION static Value<T> scores(Lanes const& lanes, Value<Rows> const& query, Value<Block> const& block) {
    auto products = lanes.template fill<Products>(Products{});
    lanes.each(
        [](int, Products& own, Rows const& q, Block const& k) {
          for (int pair = 0; pair < pairs; ++pair) {
            T sum = 0;
            for (int c = 0; c < Columns; ++c) sum += q[pair % Queries][c] * k[pair / Queries][c];
            own[pair] = sum;
          }
        },
        products, query, block);
    halve<pairs>(lanes, products);
    auto score = lanes.template fill<T>(T(0));
    lanes.each([](int, T& own, Products const& all) { own = all[0]; }, score, products);
    for (int mask = pairs; mask < Share; mask *= 2) {
      auto const other = lanes.exchange(score, mask);
      lanes.each([](int, T& own, T const& partner) { own += partner; }, score, other);
    }
    return score;
  }

  // A lane keeps the upper or lower half of its Count sums, depending on a bit of its number, and sends the other half.
  template <int Count>
  KOKKOS_FUNCTION static void halve(Lanes const& lanes, Value<Products>& products) {
    if constexpr (Count > 1) {
      constexpr int half = Count / 2;
      for (int i = 0; i < half; ++i) {
        auto given = lanes.template fill<T>(T(0));
        lanes.each(
            [i](int lane, T& out, Products& own) {
              bool const upper = (lane & half) != 0;
#ifdef __HIP__
              // Copied first: hipcc turns a choice between two elements into an index, and then keeps the array in
              // memory.
              T const low = own[i];
              T const high = own[i + half];
              out = upper ? low : high;
              own[i] = upper ? high : low;
#else
              out = upper ? own[i] : own[i + half];
              own[i] = upper ? own[i + half] : own[i];
#endif
            },
            given, products);
        auto const taken = lanes.exchange(given, half);
        lanes.each([i](int, Products& own, T const& in) { own[i] += in; }, products, taken);
      }
      halve<half>(lanes, products);
    }
  }

  // Computes the weights of a block and adds its part to the sums. Weights are scaled by a running maximum, which is
  // replaced only when a score exceeds it by more than `slack` (lazy rescaling); nothing can overflow meanwhile.
  KOKKOS_FUNCTION static void add_block(Lanes const& lanes, Value<T> const& score, Value<Block> const& values,
                                        T* weights, Value<T>& largest, Value<T>& total, Value<Rows>& sums) {
    auto far_above = lanes.template fill<bool>(false);
    lanes.each([](int, T const& s, T const& known, bool& is_far) { is_far = s > known + T(slack); }, score, largest,
               far_above);
    if (lanes.any(far_above)) raise(lanes, score, largest, total, sums);
    auto weight = score;
    lanes.each(
        [](int, T& w, T const& known, T& t) {
          w = weight_of(w, known);
          t += w;
        },
        weight, largest, total);
    // Each lane needs the weights of its whole group, which it gets from scratch with a few wide reads.
    lanes.each(
        [&](int lane, T const& w) {
          if (lane % Share < pairs) weights[lane / Share * pairs + lane % Share] = w;
        },
        weight);
    lanes.sync();
    lanes.each(
        [&](int lane, Rows& own, Block const& v) {
          T const* const of_group = weights + lane / Share * pairs;
          T w[pairs];
          for (int pair = 0; pair < pairs; pair += weight_pack) {
            auto const some = collective::pack_at<weight_pack>(of_group + pair);
            for (int e = 0; e < weight_pack; ++e) w[pair + e] = some[e];
          }
          for (int pair = 0; pair < pairs; ++pair) {
            for (int c = 0; c < Columns; ++c) own[pair % Queries][c] += w[pair] * v[pair / Queries][c];
          }
        },
        sums, values);
    lanes.sync();  // all have read the weights, which the next block overwrites
  }

  // Rescales the sums to the largest score so far, including this block.
  KOKKOS_FUNCTION static void raise(Lanes const& lanes, Value<T> const& score, Value<T>& largest, Value<T>& total,
                                    Value<Rows>& sums) {
    auto raised = score;
    for (int mask = first_mask; mask < width; mask = next_mask(mask)) {
      auto const other = lanes.exchange(raised, mask);
      lanes.each([](int, T& own, T const& partner) { own = collective::Max<T>{}(own, partner); }, raised, other);
    }
    auto factor = lanes.template fill<T>(T(1));
    lanes.each(
        [](int, T const& of_block, T& known, T& f, T& t) {
          T const both = collective::Max<T>{}(known, of_block);
          f = rescaling(known, both);
          known = both;
          t *= f;
        },
        raised, largest, factor, total);
    TESSERA_UNROLL_ON_HIP
    for (int q = 0; q < Queries; ++q) {
      T const f = lanes.template read<T>(factor, q);
      lanes.each(
          [&](int, Rows& own) {
            for (int c = 0; c < Columns; ++c) own[q][c] *= f;
          },
          sums);
    }
  }

  // Masks of exchanges among all lanes of a query: first over a group's keys, then over the groups.
  static constexpr int first_mask = keys > 1 ? Queries : Share;
  [[nodiscard]] KOKKOS_FUNCTION static constexpr int next_mask(int mask) {
    return 2 * mask == pairs ? Share : 2 * mask;
  }

  // Adds up the sums of all groups and their keys, which are relative to the same score.
  KOKKOS_FUNCTION static void add_groups(Lanes const& lanes, Value<T>& total, Value<Rows>& sums) {
    for (int mask = first_mask; mask < width; mask = next_mask(mask)) {
      auto const other = lanes.exchange(total, mask);
      lanes.each([](int, T& own, T const& partner) { own += partner; }, total, other);
    }
    for (int mask = Share; mask < width; mask *= 2) {
      auto const other = lanes.exchange(sums, mask);
      lanes.each(
          [](int, Rows& own, Rows const& partner) {
            for (int q = 0; q < Queries; ++q) {
              for (int c = 0; c < Columns; ++c) own[q][c] += partner[q][c];
            }
          },
          sums, other);
    }
  }

  // Merges the threads' pieces into one: in each step the upper half of the threads passes its pieces on, and the lower
  // half merges them.
  KOKKOS_FUNCTION static void merge_threads(Member const& team, Lanes const& lanes, T* scratch, Value<T>& largest,
                                            Value<T>& total, Value<Rows>& sums) {
    int const thread = team.team_rank();
    for (int active = team.team_size(); active > 1;) {
      int const half = (active + 1) / 2;
      if (thread >= half && thread < active) {
        T* const to = scratch + (thread - half) * slot;
        lanes.each(
            [&](int lane, T const& m, T const& t, Rows const& own) {
              if (lane < Queries) {
                to[lane] = m;
                to[Queries + lane] = t;
              }
              if (lane >= Share) return;  // the other groups have the same values
              TESSERA_UNROLL_ON_HIP
              for (int i = 0; i < Queries * Columns; ++i) {
                to[2 * Queries + i * Share + lane] = own[i / Columns][i % Columns];
              }
            },
            largest, total, sums);
      }
      team.team_barrier();
      if (thread + half < active) {
        T const* const from = scratch + thread * slot;
        auto mine = lanes.template fill<T>(T(1));
        auto theirs = lanes.template fill<T>(T(1));
        lanes.each(
            [&](int lane, T& m, T& t, T& own, T& other) {
              int const q = lane % Queries;
              T const both = collective::Max<T>{}(m, from[q]);
              own = rescaling(m, both);
              other = rescaling(from[q], both);
              t = t * own + from[Queries + q] * other;
              m = both;
            },
            largest, total, mine, theirs);
        TESSERA_UNROLL_ON_HIP
        for (int q = 0; q < Queries; ++q) {
          T const own = lanes.template read<T>(mine, q);
          T const other = lanes.template read<T>(theirs, q);
          lanes.each(
              [&](int lane, Rows& all) {
                for (int c = 0; c < Columns; ++c) {
                  all[q][c] = all[q][c] * own + from[2 * Queries + (q * Columns + c) * Share + lane % Share] * other;
                }
              },
              sums);
        }
      }
      team.team_barrier();
      active = half;
    }
  }

  KOKKOS_FUNCTION void store(Lanes const& lanes, std::size_t first_query, int query_count, int piece,
                             Value<T> const& largest, Value<T> const& total, Value<Rows> const& sums) const {
    TESSERA_UNROLL_ON_HIP
    for (int q = 0; q < Queries; ++q) {
      if (q >= query_count) break;
      collective::OnlineSum<T> const all{lanes.template read<T>(largest, q), lanes.template read<T>(total, q)};
      T* const row = task.row(first_query + q, piece);
      T const factor = to_mean(all, task.answers());
      lanes.each(
          [&](int lane, Rows const& own) {
            for (int p = 0; p < Columns / Width; ++p) {
              int const col = column(lane, p);
              if (lane >= Share || col >= task.dim) continue;
              collective::Pack<T, Width> values;
              for (int e = 0; e < Width; ++e) values[e] = own[q][p * Width + e] * factor;
              if constexpr (any_row) {
                for (int e = 0; e < Width; ++e) {
                  if (col + e < task.dim) row[col + e] = values[e];
                }
              } else {
                collective::pack_at<Width>(row + col) = values;
              }
            }
            if (lane == 0) task.keep(first_query + q, piece, all);
          },
          sums);
    }
  }
};

}  // namespace detail

/// out = softmax(scale * q k^T) v, for few queries.
///
/// Construct it once: chooses the chunks of the keys and, if there are several, allocates memory for their pieces. A
/// call only enqueues; calls on one object must not run concurrently, because they share this memory.
template <ExecutionSpace Exec, class T, class Tuning = KeyStreamTuning<Exec, T>>
class KeyStreamAttention : public AttentionOfViews<KeyStreamAttention<Exec, T, Tuning>, Exec, T> {
  using Base = AttentionOfViews<KeyStreamAttention, Exec, T>;
  using Merge = detail::MergeAttention<Exec, T, Tuning>;

 public:
  /// \param queries, dim extents of q [queries, dim]
  /// \param keys rows of k and v [keys, dim]; a call that writes pieces may have fewer
  /// \param chunks number of chunks of keys; 0: choose
  /// \param team threads per team; 0: choose
  /// \param label kernel name that Kokkos Tools reports
  /// \param only_pieces true if only pieces will be requested, and never a complete answer
  ///
  /// Throws Skip if the space cannot provide the threads or their scratch, or if dim is above most_columns.
  KeyStreamAttention(Exec const& exec, std::size_t queries, std::size_t keys, std::size_t dim, std::int64_t chunks = 0,
                     std::int64_t team = 0, std::string const& label = "tessera::attention", bool only_pieces = false)
      : Base(queries, keys, dim, label), team_(team) {
    task_.keeps_pieces = only_pieces;
    if (dim > Base::most_columns) throw Skip("d = " + std::to_string(dim) + " (lanes hold at most 256 columns)");
    choose(1, [&]<class Kernel>() {
      int const most = Kernel::most_threads();
      int const threads = team_size(exec, team_, Kernel::vector_length);
      if (team_ > most) {
        throw Skip("a team of " + std::to_string(threads) + " threads (its scratch holds the sums of " +
                   std::to_string(most) + ")");
      }
      threads_ = std::min(threads, most);
      Kernel const kernel{task_};
      // As many teams as are resident, but not more than leave each thread enough keys to amortize its part of the
      // merge, which grows with the queries.
      std::size_t const blocks = task_.queries == 1 ? 16 : 32;
      std::size_t const teams =
          std::max<std::size_t>(1, teams_that_fill(exec, threads_ * Kernel::vector_length) / Tuning::of_teams);
      std::size_t const wanted = chunks > 0 ? static_cast<std::size_t>(chunks)
                                            : std::min(tiles_of(teams, std::max<std::size_t>(1, kernel.query_groups())),
                                                       tiles_of(task_.chunks.n, blocks * Kernel::block * threads_));
      task_.chunks = split(task_.chunks.n, Kernel::block, std::min<std::size_t>(wanted, Merge::most_pieces));
      steps_ = Kernel::rounding_steps(task_.chunks.size, threads_);
      if (!task_.keeps_pieces) steps_ += Merge(exec, task_, team_).rounding_steps();
      (void)Kernel{task_}.league();
    });
    if (task_.chunks.count == 1 || only_pieces) return;
    pieces_ = AttentionPieces<Exec, T>(task_.queries, dim, task_.chunks.count, label);
    task_ = pieces_.as_pieces_of(task_, 0);
    task_.keeps_pieces = false;  // they are merged
  }

  // Called by Base.
  void enqueue(Exec const& exec, detail::AttentionTask<T> const& task) const {
    choose(detail::is_aligned(task) ? collective::pack_width<T> : 1,
           [&]<class Kernel>() { Kernel{task}.enqueue(label_ + "::attend", exec, threads_); });
    if (!task.keeps_pieces) Merge::enqueue(label_ + "::merge", exec, task, team_);
  }

 private:
  template <int Length, int Queries, class Body>
  void choose_width([[maybe_unused]] int width, Body const& body) const {
    constexpr int share = Tuning::share[Length];
    constexpr int columns = Tuning::columns[Length];
    constexpr int widest = std::min(columns, collective::pack_width<T>);
    if constexpr (!Tuning::any_row) {
      if (width == 1) return body.template operator()<detail::KeyStream<Exec, T, Tuning, share, columns, Queries, 1>>();
    }
    body.template operator()<detail::KeyStream<Exec, T, Tuning, share, columns, Queries, widest>>();
  }

  /// Calls body.operator()<Kernel>() with the kernel for rows of this length and this number of queries.
  template <class Body>
  void choose(int width, Body const& body) const {
    auto const of_length = [&]<int Length>() {
      if (task_.queries == 1) return choose_width<Length, 1>(width, body);
      choose_width<Length, Tuning::queries>(width, body);
    };
    if (task_.dim <= 32) return of_length.template operator()<0>();
    if (task_.dim <= 64) return of_length.template operator()<1>();
    if (task_.dim <= 128) return of_length.template operator()<2>();
    of_length.template operator()<3>();
  }

  using Base::label_, Base::steps_, Base::task_;
  std::int64_t team_;
  int threads_ = 1;
  AttentionPieces<Exec, T> pieces_;  // if there are several chunks to merge
};

}  // namespace tessera::kernels
