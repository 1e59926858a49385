#pragma once
/// \file
/// Attention as in a transformer: several sequences, several heads, and, if it is causal, each query sees only the keys
/// up to its own position. Rows of q, k, v and the result hold the heads one after the other, as products with
/// projection matrices write them, so nothing is transposed.
///
/// A team handles a tile of queries of one head by the steps of query_tile_attention.hpp; no score is written to
/// memory. If it is causal, the team stops behind the key of its last query. Only tiles that reach beyond their first
/// query are masked. Teams with the most keys come first, so that the short ones fill the gaps at the end.
///
/// Traffic: q once; k and v once per tile of queries, mostly from the cache.
///
/// Example, one causal head, two tokens, scores of the second query 0 and ln 3: out_0 = v_0, out_1 = (v_0 + 3 v_1) / 4.
///
/// Use:  MultiHeadAttention<Exec, float> attend(exec, {.sequences = 8, .tokens = 2048, .heads = 16, .dim = 64});
///       attend(exec, q, k, v, out, scale);
///
/// Source: Dao, Fu, Ermon, Rudra and Ré, FlashAttention (2022).

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tessera/collective/operators.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/attention/attention_pieces.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/query_tile_attention.hpp>

namespace tessera::kernels {

/// Extents of a multi-head attention: matrices are [sequences * tokens, heads * dim].
struct Heads {
  std::size_t sequences = 1;
  std::size_t tokens = 0;  ///< per sequence
  std::size_t heads = 1;
  std::size_t dim = 0;  ///< of a head
  bool causal = true;   ///< query i sees the keys 0 .. i of its sequence; otherwise all of them

  [[nodiscard]] std::size_t rows() const { return sequences * tokens; }
  [[nodiscard]] std::size_t cols() const { return heads * dim; }
};

namespace detail {

/// The kernel of one team: a tile of queries of one head. The task has one sequence's queries and keys, and a head's
/// columns; its arrays are the first sequence and the first head.
template <ExecutionSpace Exec, class T, class Tuning, int Dim>
struct HeadTile : QueryTile<Exec, T, Tuning, Dim> {
  using Base = QueryTile<Exec, T, Tuning, Dim>;
  using Base::rows, Base::width, Base::packs, Base::keys, Base::keys_of_lane;
  using Base::task;
  using Base::tile_packs, Base::weights_of_thread, Base::near_level, Base::query_level;
  using typename Base::Lanes;
  using typename Base::Member;
  using typename Base::OfRows;
  using typename Base::Pack;
  using typename Base::Scores;
  using typename Base::Scratch;
  using typename Base::Sums;

  std::size_t sequences;
  std::size_t heads;
  bool causal;

  HeadTile(AttentionTask<T> const& of, Heads const& shape, bool in_packs)
      : Base{of, in_packs}, sequences(shape.sequences), heads(shape.heads), causal(shape.causal) {}

  [[nodiscard]] static int league_size(Heads const& shape, int threads) {
    std::size_t const tiles = tiles_of(shape.tokens, static_cast<std::size_t>(threads) * rows);
    return league_of(tiles * shape.sequences * shape.heads);
  }

  void enqueue(std::string const& label, Exec const& exec, Heads const& shape, int threads) const {
    Base::launch(label, exec, league_size(shape, threads), threads, *this);
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

    // Neighbouring teams have different heads; the last tiles, which see the most keys, come first.
    std::size_t const tokens = task.queries;
    auto const of_team = static_cast<std::size_t>(threads) * rows;
    std::size_t const tiles = (tokens + of_team - 1) / of_team;
    auto const rank = static_cast<std::size_t>(team.league_rank());
    std::size_t const first_query = (tiles - 1 - rank / (heads * sequences)) * of_team;
    std::size_t const head = rank % heads;
    int const stride = static_cast<int>(heads) * task.dim;
    std::size_t const begin = (rank / heads % sequences * tokens) * stride + head * task.dim;
    std::size_t const behind = first_query + of_team;  // the team's last query
    int const query_count = tokens < behind ? static_cast<int>(tokens - first_query) : static_cast<int>(of_team);
    this->load(team, task.q + begin + first_query * stride, stride, query_count, threads * rows, rows,
               query_scratch.data());

    auto sums = lanes.template fill<Sums>(Sums{});
    auto largest = lanes.template fill<OfRows>(OfRows{});
    auto total = lanes.template fill<OfRows>(OfRows{});  // of this lane's keys
    lanes.each(
        [](int, OfRows& own) {
          for (int r = 0; r < rows; ++r) own[r] = collective::minus_infinity<T>();
        },
        largest);
    std::size_t const end = causal && behind < tokens ? behind : tokens;
    for (std::size_t first = 0; first < end; first += keys) {
      int const count = end - first < keys ? static_cast<int>(end - first) : keys;
      this->load(team, task.k + begin + first * stride, stride, count, keys, 1, tile);
      team.team_barrier();
      auto score = lanes.template fill<Scores>(Scores{});
      this->multiply(lanes, query_scratch.data() + thread * rows * packs, thread & 7, tile, count, score);
      if (causal && first + count > first_query + 1) {
        // Distance of the thread's first query from the tile's first key.
        int const ahead = static_cast<int>(first_query) - static_cast<int>(first) + thread * rows;
        lanes.each(
            [&](int lane, Scores& own) {
              for (int i = 0; i < keys_of_lane; ++i) {
                for (int r = 0; r < rows; ++r) {
                  if (lane + i * width > ahead + r) own[r][i] = collective::minus_infinity<T>();
                }
              }
            },
            score);
      }
      team.team_barrier();  // all have read the keys
      this->load(team, task.v + begin + first * stride, stride, count, keys, 1, tile);
      this->weigh(lanes, score, largest, total, sums);
      team.team_barrier();
      this->add_values(lanes, score, tile, weights, sums);
      team.team_barrier();  // all have read the values
    }
    T* const out = task.out + begin + (first_query + thread * rows) * stride;
    this->finish(
        lanes, query_count - thread * rows, [&](int r) { return out + static_cast<std::size_t>(r) * stride; },
        [](int, collective::OnlineSum<T> const&) {}, largest, total, sums);
    mend_head(team, first_query, query_count, begin, stride);
    leave_scratch(team);
  }

 private:
  // Recomputes the means that are not finite: a sum of weighted values may overflow, and a weight of 0 times a value
  // that is not finite, of a key that the query does not see, is not 0.
  KOKKOS_FUNCTION void mend_head(Member const& team, std::size_t first_query, int queries, std::size_t begin,
                                 int stride) const {
    team.team_barrier();
    int const dim = task.dim;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, queries * dim), [&](int i) {
      std::size_t const query = first_query + i / dim;
      T& mean = task.out[begin + query * stride + i % dim];
      if (mean - mean == T(0)) return;
      mean = mean_of_head(begin, stride, query, i % dim);
    });
  }

  // The mean of a column, computed by one thread as by mean_of() for the keys that the query sees.
  [[nodiscard]] KOKKOS_FUNCTION T mean_of_head(std::size_t begin, int stride, std::size_t query, int col) const {
    T const* const q = task.q + begin + query * stride;
    std::size_t const end = causal ? query + 1 : task.queries;
    auto const score = [&](std::size_t key) {
      T sum = 0;
      for (int c = 0; c < task.dim; ++c) sum += q[c] * task.k[begin + key * stride + c];
      return sum * task.scale;
    };
    constexpr T small = T(0x1p-48);
    T largest = collective::minus_infinity<T>();
    for (std::size_t key = 0; key < end; ++key) largest = collective::Max<T>{}(largest, score(key));
    CompensatedSum<T> total;
    CompensatedSum<T> sum;
    for (std::size_t key = 0; key < end; ++key) {
      T const weight = weight_of(score(key), largest);
      total.add(weight);
      sum.add(weight * small * task.v[begin + key * stride + col]);
    }
    return sum.sum / (total.sum * small);
  }
};

}  // namespace detail

/// out = softmax(scale * q k^T) v for each head of each sequence.
///
/// Construct it once: chooses the kernel. A call only enqueues. Calls share no memory and may run concurrently.
template <ExecutionSpace Exec, class T, class Tuning = QueryTileTuning<Exec, T>>
class MultiHeadAttention {
 public:
  static constexpr std::size_t most_columns = 256;  ///< of a head

  /// \param team threads per team; 0: choose
  /// \param label kernel name that Kokkos Tools reports
  ///
  /// Throws Skip if the space cannot provide the threads, or if heads have more than most_columns columns.
  MultiHeadAttention(Exec const& exec, Heads const& heads, std::int64_t team = 0,
                     std::string label = "tessera::multi_head_attention")
      : label_(std::move(label)), heads_(heads) {
    if (heads.dim > most_columns) {
      throw Skip("heads of " + std::to_string(heads.dim) + " columns (a tile has at most 256)");
    }
    choose([&]<class Kernel>() {
      threads_ = Kernel::threads_for(exec, team);
      (void)Kernel::league_size(heads_, threads_);
      steps_ = Kernel::rounding_steps(heads_.tokens);
    });
  }

  /// Enqueues. All matrices are [sequences * tokens, heads * dim], contiguous and row-major; `out` must not overlap the
  /// others. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> Q, Readable<Exec, T, 2> K, Readable<Exec, T, 2> V, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out, T scale) const {
    require_apart(out, q, k, v);
    auto task = detail::attention_task<T>(heads_.tokens, heads_.tokens, heads_.dim);
    task.q = row_major(q, heads_.rows(), heads_.cols());
    task.k = row_major(k, heads_.rows(), heads_.cols());
    task.v = row_major(v, heads_.rows(), heads_.cols());
    task.out = row_major(out, heads_.rows(), heads_.cols());
    task.scale = scale;
    if (out.size() == 0) return;
    choose([&]<class Kernel>() {
      Kernel(task, heads_, detail::is_aligned(task)).enqueue(label_, exec, heads_, threads_);
    });
  }

  /// Returns the roundings on the longest path of a sum of weights or of weighted values.
  [[nodiscard]] double rounding_steps() const { return steps_; }

 private:
  /// Calls body.operator()<Kernel>() with the kernel for heads of this size.
  template <class Body>
  void choose(Body const& body) const {
    if (heads_.dim <= 64) return body.template operator()<detail::HeadTile<Exec, T, Tuning, 64>>();
    if (heads_.dim <= 128) return body.template operator()<detail::HeadTile<Exec, T, Tuning, 128>>();
    body.template operator()<detail::HeadTile<Exec, T, Tuning, 256>>();
  }

  std::string label_;
  Heads heads_;
  int threads_ = 1;
  double steps_ = 0;
};

}  // namespace tessera::kernels
