#pragma once
/// \file
/// The gradients of q, k and v of a multi-head attention (multi_head_attention.hpp), given the gradient of its result.
/// With the weights p = softmax(scale * q k^T) of a head, out = p v, and the gradient g of out:
///
///     dv_j  = sum_i p_ij g_i               ds_ij = scale * p_ij (g_i v_j - g_i out_i)
///     dq_i  = sum_j ds_ij k_j              dk_j  = sum_i ds_ij q_i
///
/// No weight is written to memory; two launches compute them again from q and k. In the first, a team handles a tile of
/// queries: it goes through the keys once for the largest score and the sum of the weights of each query, and once more
/// for dq. It stores these two numbers and g_i out_i. In the second, a team handles a tile of keys and goes through the
/// queries that see them, for dk and dv. Both have the tiles and the products of query_tile_attention.hpp, the second
/// with queries and keys exchanged. Sums are added in a fixed order: every run gives the same bits.
///
/// Traffic: a tile's rows once; all rows that they meet once per tile, mostly from the cache.
///
/// Example, one head, one token: p = 1, so dq = dk = 0 and dv = g.
///
/// Use:  MultiHeadAttentionBackward<Exec, float> backward(exec, {.sequences = 8, .tokens = 64, .heads = 9, .dim = 64});
///       backward(exec, q, k, v, out, grad_out, dq, dk, dv, scale);
///
/// Source: Dao, Fu, Ermon, Rudra and Ré, FlashAttention (2022).

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/operators.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/attention/attention_pieces.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/query_tile_attention.hpp>

namespace tessera::kernels {

/// Sizes of teams and tiles. A team keeps two tiles of its own rows, and each lane two sets of sums: both are half as
/// large as in QueryTileTuning.
template <ExecutionSpace Exec, class T>
struct AttentionBackwardTuning : QueryTileTuning<Exec, T> {
  static constexpr int rows = 4;              ///< per thread
  static constexpr int tile_bytes = 1 << 13;  ///< of a tile of passing rows, and of each tile of a team's own rows
};

namespace detail {

/// The arrays of a launch: matrices [sequences * tokens, heads * dim], and numbers per query and head [rows, heads].
template <class T>
struct AttentionGradients {
  T const* q;
  T const* k;
  T const* v;
  T const* out;
  T const* g;
  T* dq;
  T* dk;
  T* dv;
  T* largest;  ///< score of a query
  T* inverse;  ///< of the sum of its weights
  T* of_out;   ///< scale * g out
};

/// Common to both launches: a team has a tile of rows of one head of one sequence, in two matrices; the rows of
/// two other matrices pass through its scratch.
template <ExecutionSpace Exec, class T, class Tuning, int Dim>
struct BackwardTile : QueryTile<Exec, T, Tuning, Dim> {
  using Base = QueryTile<Exec, T, Tuning, Dim>;
  using Base::near_level, Base::rows, Base::packs, Base::tile_packs, Base::weights_of_thread, Base::task;
  using typename Base::Member;
  using typename Base::Pack;
  using typename Base::Policy;
  using typename Base::Scratch;
  static constexpr int own_packs = Base::whole_threads * rows * packs;  // of a team's rows in one matrix, on a GPU
  static constexpr bool fit_together =
      (tile_packs + 2 * own_packs + Base::whole_threads * weights_of_thread) * 16 <= 40000;
  static constexpr int own_level = fit_together ? near_level : 1;

  AttentionGradients<T> of;
  std::size_t sequences;
  std::size_t heads;
  bool causal;

  BackwardTile(AttentionTask<T> const& all, AttentionGradients<T> const& arrays, Heads const& shape, bool in_packs)
      : Base{all, in_packs}, of(arrays), sequences(shape.sequences), heads(shape.heads), causal(shape.causal) {}

  [[nodiscard]] static int league_size(Heads const& shape, int threads) {
    std::size_t const tiles = tiles_of(shape.tokens, static_cast<std::size_t>(threads) * rows);
    return league_of(tiles * shape.sequences * shape.heads);
  }
  [[nodiscard]] static Policy policy(Exec const& exec, Heads const& shape, int threads) {
    Policy const plain(exec, league_size(shape, threads), threads, Base::vector_length);
    std::size_t const here = Scratch::shmem_size(tile_packs) + Scratch::shmem_size(threads * weights_of_thread);
    std::size_t const own = 2 * Scratch::shmem_size(threads * rows * packs);
    return own_level == near_level ? with_scratch(plain, here + own, near_level)
                                   : with_scratch(with_scratch(plain, here, near_level), own, own_level);
  }

  /// A team's place and scratch.
  struct Place {
    std::size_t tile;  ///< its number, from the first token on
    std::size_t head;
    std::size_t row;      ///< of the sequence's first token
    std::size_t begin;    ///< of the head in that row
    int stride;           ///< from one row to the next
    Pack* passing;        ///< rows that pass through
    T* weights;           ///< of this thread
    Pack* own;            ///< rows of the team
    Pack* own_gradients;  ///< rows of the team in the other matrix
  };
  [[nodiscard]] KOKKOS_FUNCTION Place place(Member const& team) const {
    int const threads = team.team_size();
    Scratch const tile(team.team_scratch(int{near_level}), tile_packs);
    Scratch const weights(team.team_scratch(int{near_level}), threads * weights_of_thread);
    Scratch const own(team.team_scratch(int{own_level}), threads * rows * packs);
    Scratch const gradients(team.team_scratch(int{own_level}), threads * rows * packs);
    auto const rank = static_cast<std::size_t>(team.league_rank());
    std::size_t const row = rank / heads % sequences * task.queries;
    std::size_t const head = rank % heads;
    int const stride = static_cast<int>(heads) * task.dim;
    return {.tile = rank / (heads * sequences),
            .head = head,
            .row = row,
            .begin = row * stride + head * task.dim,
            .stride = stride,
            .passing = tile.data(),
            .weights = reinterpret_cast<T*>(weights.data() + team.team_rank() * weights_of_thread),
            .own = own.data(),
            .own_gradients = gradients.data()};
  }

  // Stores the sums of the thread's first `count` rows.
  template <class Lanes, class ValueOfSums>
  KOKKOS_FUNCTION void store(Lanes const& lanes, ValueOfSums const& sums, int count, T* to, int stride) const {
    constexpr int pack = Base::pack;
    lanes.each(
        [&](int lane, typename Base::Sums const& own) {
          for (int r = 0; r < rows; ++r) {
            if (r >= count) break;
            T* const row = to + static_cast<std::size_t>(r) * stride;
            for (int c = 0; c < Base::columns / pack; ++c) {
              int const col = (c * Base::width + lane) * pack;
              for (int e = 0; e < pack; ++e) {
                if (col + e < task.dim) row[col + e] = own[r][c * pack + e];
              }
            }
          }
        },
        sums);
  }
};

/// The first launch: dq of a tile of queries, and what the second needs of them. Barriers: two per tile of keys in the
/// first pass, four in the second.
template <ExecutionSpace Exec, class T, class Tuning, int Dim>
struct QueryGradients : BackwardTile<Exec, T, Tuning, Dim> {
  using Base = BackwardTile<Exec, T, Tuning, Dim>;
  using Base::Base;
  using Base::rows, Base::width, Base::packs, Base::keys, Base::keys_of_lane, Base::task, Base::of, Base::causal,
      Base::heads;
  using typename Base::Lanes;
  using typename Base::Member;
  using typename Base::OfRows;
  using typename Base::Scores;
  using typename Base::Sums;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    auto const at = this->place(team);
    int const threads = team.team_size();
    int const thread = team.team_rank();
    std::size_t const tokens = task.queries;
    auto const of_team = static_cast<std::size_t>(threads) * rows;
    std::size_t const tiles = (tokens + of_team - 1) / of_team;
    std::size_t const first_query = (tiles - 1 - at.tile) * of_team;  // those that see the most keys come first
    std::size_t const behind = first_query + of_team;
    int const query_count = tokens < behind ? static_cast<int>(tokens - first_query) : static_cast<int>(of_team);
    std::size_t const end = causal && behind < tokens ? behind : tokens;
    auto const load = [&](T const* from, std::size_t first, int count) {
      this->load(team, from + at.begin + first * at.stride, at.stride, count, keys, 1, at.passing);
    };
    auto const load_own = [&](T const* from, auto* to) {
      this->load(team, from + at.begin + first_query * at.stride, at.stride, query_count, threads * rows, rows, to);
    };
    // Scores of the thread's queries and a tile of keys: -infinity for keys that a query does not see.
    auto const multiply = [&](auto const* own, std::size_t first, int count, auto& score) {
      this->multiply(lanes, own + thread * rows * packs, thread & 7, at.passing, count, score);
      if (!causal || first + count <= first_query + 1) return;
      int const ahead = static_cast<int>(first_query) - static_cast<int>(first) + thread * rows;
      lanes.each(
          [&](int lane, Scores& values) {
            for (int i = 0; i < keys_of_lane; ++i) {
              for (int r = 0; r < rows; ++r) {
                if (lane + i * width > ahead + r) values[r][i] = collective::minus_infinity<T>();
              }
            }
          },
          score);
    };
    load_own(of.q, at.own);
    load_own(of.g, at.own_gradients);

    auto sums = lanes.template fill<Sums>(Sums{});  // stay zeros in the first pass
    auto largest = lanes.template fill<OfRows>(OfRows{});
    auto total = lanes.template fill<OfRows>(OfRows{});
    lanes.each(
        [](int, OfRows& own) {
          for (int r = 0; r < rows; ++r) own[r] = collective::minus_infinity<T>();
        },
        largest);
    for (std::size_t first = 0; first < end; first += keys) {
      int const count = end - first < keys ? static_cast<int>(end - first) : keys;
      load(of.k, first, count);
      team.team_barrier();
      auto score = lanes.template fill<Scores>(Scores{});
      multiply(at.own, first, count, score);
      this->weigh(lanes, score, largest, total, sums);
      team.team_barrier();
    }
    auto of_out = lanes.template fill<OfRows>(OfRows{});
    finish_numbers(lanes, at, first_query + thread * rows, query_count - thread * rows, largest, total, of_out);

    for (std::size_t first = 0; first < end; first += keys) {
      int const count = end - first < keys ? static_cast<int>(end - first) : keys;
      load(of.v, first, count);
      team.team_barrier();
      auto gradient = lanes.template fill<Scores>(Scores{});
      multiply(at.own_gradients, first, count, gradient);
      team.team_barrier();
      load(of.k, first, count);
      team.team_barrier();
      auto score = lanes.template fill<Scores>(Scores{});
      multiply(at.own, first, count, score);
      lanes.each(
          [&](int, Scores const& s, Scores& ds, OfRows const& most, OfRows const& inverse, OfRows const& mean) {
            for (int r = 0; r < rows; ++r) {
              for (int i = 0; i < keys_of_lane; ++i) {
                T const weight = weight_of(s[r][i], most[r]) * inverse[r];
                ds[r][i] = s[r][i] == collective::minus_infinity<T>() ? T(0) : weight * (ds[r][i] - mean[r]);
              }
            }
          },
          score, gradient, largest, total, of_out);
      this->add_values(lanes, gradient, at.passing, at.weights, sums);
      team.team_barrier();
    }
    this->store(lanes, sums, query_count - thread * rows, of.dq + at.begin + (first_query + thread * rows) * at.stride,
                at.stride);
    leave_scratch(team);
  }

 private:
  // Sums the weights of all lanes and computes g out. `total` becomes its inverse; the numbers of the thread's first
  // `count` queries go to memory.
  template <class Place, class ValueOfRows>
  KOKKOS_FUNCTION void finish_numbers(Lanes const& lanes, Place const& at, std::size_t first, int count,
                                      ValueOfRows const& largest, ValueOfRows& total, ValueOfRows& of_out) const {
    for (int r = 0; r < rows; ++r) {
      std::size_t const row = at.begin + (first + r) * at.stride;
      auto own_total = lanes.template fill<T>(T(0));
      auto own_product = lanes.template fill<T>(T(0));
      lanes.each(
          [&](int lane, T& sum, T& product, OfRows const& of_lane) {
            sum = of_lane[r];
            if (r >= count) return;
            for (int c = lane; c < task.dim; c += width) product += of.g[row + c] * of.out[row + c];
          },
          own_total, own_product, total);
      T const inverse = T(1) / thread::reduce<T>(lanes, own_total, collective::Sum<T>{});
      T const mean = thread::reduce<T>(lanes, own_product, collective::Sum<T>{}) * task.scale;
      std::size_t const number = (at.row + first + r) * heads + at.head;
      lanes.each(
          [&](int lane, OfRows const& most, OfRows& sum, OfRows& product) {
            sum[r] = inverse;
            product[r] = mean;
            if (lane > 0 || r >= count) return;
            of.largest[number] = most[r];
            of.inverse[number] = inverse;
            of.of_out[number] = mean;
          },
          largest, total, of_out);
    }
  }
};

/// The second launch: dk and dv of a tile of keys. The tile's keys are the rows of the products, and the queries pass.
/// Barriers: six per tile of queries.
template <ExecutionSpace Exec, class T, class Tuning, int Dim>
struct KeyGradients : BackwardTile<Exec, T, Tuning, Dim> {
  using Base = BackwardTile<Exec, T, Tuning, Dim>;
  using Base::Base;
  using Base::rows, Base::width, Base::packs, Base::keys, Base::keys_of_lane, Base::task, Base::of, Base::causal,
      Base::heads;
  using typename Base::Lanes;
  using typename Base::Member;
  using typename Base::Scores;
  using typename Base::Sums;
  static constexpr int queries = keys;  // per tile

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    auto const at = this->place(team);
    int const threads = team.team_size();
    int const thread = team.team_rank();
    std::size_t const tokens = task.queries;
    auto const of_team = static_cast<std::size_t>(threads) * rows;
    std::size_t const first_key = at.tile * of_team;  // those that the most queries see come first
    int const key_count =
        tokens - first_key < of_team ? static_cast<int>(tokens - first_key) : static_cast<int>(of_team);
    std::size_t const key = first_key + thread * rows;  // of this thread
    auto const load = [&](T const* from, std::size_t first, int count) {
      this->load(team, from + at.begin + first * at.stride, at.stride, count, queries, 1, at.passing);
    };
    auto const load_own = [&](T const* from, auto* to) {
      this->load(team, from + at.begin + first_key * at.stride, at.stride, key_count, threads * rows, rows, to);
    };
    load_own(of.k, at.own);
    load_own(of.v, at.own_gradients);

    auto dk = lanes.template fill<Sums>(Sums{});
    auto dv = lanes.template fill<Sums>(Sums{});
    for (std::size_t first = causal ? first_key : 0; first < tokens; first += queries) {
      int const count = tokens - first < queries ? static_cast<int>(tokens - first) : queries;
      load(of.q, first, count);
      team.team_barrier();
      auto weight = lanes.template fill<Scores>(Scores{});
      this->multiply(lanes, at.own + thread * rows * packs, thread & 7, at.passing, count, weight);
      team.team_barrier();
      load(of.g, first, count);
      team.team_barrier();
      auto gradient = lanes.template fill<Scores>(Scores{});
      this->multiply(lanes, at.own_gradients + thread * rows * packs, thread & 7, at.passing, count, gradient);
      lanes.each(
          [&](int lane, Scores& p, Scores& ds) {
            for (int i = 0; i < keys_of_lane; ++i) {
              std::size_t const query = first + lane + i * width;
              bool const inside = lane + i * width < count;
              std::size_t const number = inside ? (at.row + query) * heads + at.head : 0;
              T const most = inside ? of.largest[number] : T(0);
              T const inverse = inside ? of.inverse[number] : T(0);
              T const mean = inside ? of.of_out[number] : T(0);
              for (int r = 0; r < rows; ++r) {
                bool const seen = inside && !(causal && query < key + r);
                p[r][i] = seen ? weight_of(p[r][i], most) * inverse : T(0);
                ds[r][i] = seen ? p[r][i] * (ds[r][i] - mean) : T(0);
              }
            }
          },
          weight, gradient);
      this->add_values(lanes, weight, at.passing, at.weights, dv);
      team.team_barrier();
      load(of.q, first, count);
      team.team_barrier();
      this->add_values(lanes, gradient, at.passing, at.weights, dk);
      team.team_barrier();
    }
    std::size_t const to = at.begin + key * at.stride;
    this->store(lanes, dk, key_count - thread * rows, of.dk + to, at.stride);
    this->store(lanes, dv, key_count - thread * rows, of.dv + to, at.stride);
    leave_scratch(team);
  }
};

}  // namespace detail

/// dq, dk and dv of a multi-head attention.
///
/// Construct it once: chooses the kernels and allocates three numbers per query and head. A call only enqueues. Calls
/// of one object share these numbers and must not run concurrently.
template <ExecutionSpace Exec, class T, class Tuning = AttentionBackwardTuning<Exec, T>>
class MultiHeadAttentionBackward {
 public:
  static constexpr std::size_t most_columns = 256;  ///< of a head

  /// \param team threads per team; 0: choose
  /// \param label kernel name that Kokkos Tools reports
  ///
  /// Throws Skip if the space cannot provide the threads, or if heads have more than most_columns columns.
  MultiHeadAttentionBackward(Exec const& exec, Heads const& heads, std::int64_t team = 0,
                             std::string const& label = "tessera::multi_head_attention_backward")
      : label_(label), heads_(heads) {
    if (heads.dim > most_columns) {
      throw Skip("heads of " + std::to_string(heads.dim) + " columns (a tile has at most 256)");
    }
    choose([&]<class Queries, class Keys>() {
      threads_ = Queries::threads_for(exec, team);
      (void)Queries::league_size(heads_, threads_);
      steps_ = Queries::rounding_steps(heads_.tokens);
    });
    numbers_ =
        Kokkos::View<T*, typename Exec::memory_space>(unset(label + "::numbers"), 3 * heads_.rows() * heads_.heads);
  }

  /// Enqueues. All matrices are [sequences * tokens, heads * dim], contiguous and row-major; `out` is the attention's
  /// result and `grad_out` its gradient. Results must not overlap each other or the inputs. Throws
  /// std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> Q, Readable<Exec, T, 2> K, Readable<Exec, T, 2> V, Readable<Exec, T, 2> Out,
            Readable<Exec, T, 2> G, Writable<Exec, T, 2> Dq, Writable<Exec, T, 2> Dk, Writable<Exec, T, 2> Dv>
  void operator()(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out, G const& grad_out, Dq const& dq,
                  Dk const& dk, Dv const& dv, T scale) const {
    require_apart(dq, q, k, v, out, grad_out);
    require_apart(dk, q, k, v, out, grad_out, dq);
    require_apart(dv, q, k, v, out, grad_out, dq, dk);
    auto const elements = [&](auto const& view) { return row_major(view, heads_.rows(), heads_.cols()); };
    std::size_t const n = heads_.rows() * heads_.heads;
    detail::AttentionGradients<T> const of{.q = elements(q),
                                           .k = elements(k),
                                           .v = elements(v),
                                           .out = elements(out),
                                           .g = elements(grad_out),
                                           .dq = elements(dq),
                                           .dk = elements(dk),
                                           .dv = elements(dv),
                                           .largest = numbers_.data(),
                                           .inverse = numbers_.data() + n,
                                           .of_out = numbers_.data() + 2 * n};
    if (dq.size() == 0) return;
    auto task = detail::attention_task<T>(heads_.tokens, heads_.tokens, heads_.dim);
    task.scale = scale;
    constexpr int pack = collective::pack_width<T>;
    bool const aligned = heads_.dim % pack == 0 && collective::is_aligned_for_packs<pack>(of.q, of.k, of.v, of.g);
    choose([&]<class Queries, class Keys>() {
      Kokkos::parallel_for(label_ + "::queries", Queries::policy(exec, heads_, threads_),
                           Queries(task, of, heads_, aligned));
      Kokkos::parallel_for(label_ + "::keys", Keys::policy(exec, heads_, threads_), Keys(task, of, heads_, aligned));
    });
  }

  /// Returns the roundings on the longest path of a sum over keys or queries.
  [[nodiscard]] double rounding_steps() const { return steps_; }

 private:
  /// Calls body.operator()<Queries, Keys>() with the kernels for heads of this size.
  template <class Body>
  void choose(Body const& body) const {
    if (heads_.dim <= 64) return chosen<64>(body);
    if (heads_.dim <= 128) return chosen<128>(body);
    chosen<256>(body);
  }
  template <int Dim, class Body>
  static void chosen(Body const& body) {
    body.template
    operator()<detail::QueryGradients<Exec, T, Tuning, Dim>, detail::KeyGradients<Exec, T, Tuning, Dim>>();
  }

  std::string label_;
  Heads heads_;
  int threads_ = 1;
  double steps_ = 0;
  Kokkos::View<T*, typename Exec::memory_space> numbers_;
};

}  // namespace tessera::kernels
