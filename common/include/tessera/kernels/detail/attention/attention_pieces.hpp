#pragma once
/// \file
/// Pieces of attention: the state of a query after some of the keys, and how pieces are merged. A piece is the largest
/// score, the sum of weights relative to it, and the weighted mean of the values.
///
/// Let m be the largest score, total = sum e^(s_j - m), means[c] = sum e^(s_j - m) v_jc / total. The means over all
/// keys are the answer. To rescale a piece to a larger maximum M, its total is multiplied by e^(m - M). A piece without
/// keys, or whose scores are all -infinity, is {-infinity, 0, 0} and changes nothing.
///
/// A mean is never outside the range of the values, but a sum of weighted values may overflow. Kernels first sum and
/// then divide; mend() recomputes only the means that are not finite, so that other inputs do not pay for it.
///
/// Source: Dao, Fu, Ermon, Rudra and Ré, FlashAttention (2022), section 3; Milakov and Gimelshein (2018).

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tessera/collective/exponential.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/tree_reduce.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels::detail {

/// Returns e^(from - to) for from <= to; 1 if both are the same infinity.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T rescaling(T from, T to) {
  return from == to ? T(1) : collective::exp_nonpositive(from - to);
}

/// Returns e^(score - largest); 0 for a score of -infinity, for any largest score. A score of +infinity gives NaN.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T weight_of(T score, T largest) {
  return score == collective::minus_infinity<T>() ? T(0) : collective::exp_nonpositive(score - largest);
}

/// Returns 1 / total, the factor that turns weighted sums of values into a mean. For an answer it is NaN if the largest
/// score is NaN or -infinity; for a piece without weights it is 1.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION T to_mean(collective::OnlineSum<T> const& of, bool is_answer) {
  if (is_answer) return of.inverse();
  return of.sum == T(0) ? T(1) : T(1) / of.sum;
}

/// Queries, keys and values, row-major, and the chunks of the keys. Each chunk gives one piece per query.
template <class T>
struct AttentionTask {
  T const* q;
  T const* k;
  T const* v;
  T* out;  ///< [queries, dim]
  std::size_t queries;
  Chunks chunks;  ///< of the keys
  int dim;
  T scale;
  /// The pieces, if there are several or keeps_pieces is true: means [chunks, queries, dim], largest and total [chunks,
  /// queries].
  T* means = nullptr;
  T* largest = nullptr;
  T* total = nullptr;
  bool keeps_pieces = false;  ///< even a single piece stays a piece: the kernel writes no answer

  /// Whether the kernel that computes the pieces writes the answer itself, because there is only one piece.
  [[nodiscard]] KOKKOS_FUNCTION bool answers() const { return chunks.count == 1 && !keeps_pieces; }
  /// Returns the destination of the means of a query and piece: in `out` if answers().
  [[nodiscard]] KOKKOS_FUNCTION T* row(std::size_t query, int piece) const {
    return answers() ? out + query * dim : means + (piece * queries + query) * dim;
  }
  /// Stores the largest score and the total of a query and piece, unless answers().
  KOKKOS_FUNCTION void keep(std::size_t query, int piece, collective::OnlineSum<T> const& all) const {
    if (answers()) return;
    std::size_t const at = piece * queries + query;
    largest[at] = all.max;
    total[at] = all.sum;
  }
};

/// A sum and the rounding error of its additions.
///
/// Source: W. Kahan, Further remarks on reducing truncation errors, 1965.
template <class T>
struct CompensatedSum {
  T sum = 0;
  T lost = 0;

  KOKKOS_FUNCTION void add(T x) {
    T const term = x - lost;
    T const next = sum + term;
    lost = next - next == T(0) ? (next - sum) - term : T(0);  // an infinity stays one
    sum = next;
  }
};

/// Returns the mean of a column over a chunk's keys, computed by one thread, with weights so small that no sum of 2^48
/// of them leaves the range.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION T mean_of(AttentionTask<T> const& task, std::size_t query, int piece, int col) {
  T const* const q = task.q + query * task.dim;
  auto const score = [&](std::size_t key) {
    T sum = 0;
    for (int c = 0; c < task.dim; ++c) sum += q[c] * task.k[key * task.dim + c];
    return sum * task.scale;
  };
  constexpr T small = T(0x1p-48);
  T largest = collective::minus_infinity<T>();
  for (std::size_t key = task.chunks.begin(piece); key < task.chunks.end(piece); ++key) {
    largest = collective::Max<T>{}(largest, score(key));
  }
  CompensatedSum<T> total;
  CompensatedSum<T> sum;
  for (std::size_t key = task.chunks.begin(piece); key < task.chunks.end(piece); ++key) {
    T const weight = weight_of(score(key), largest);
    total.add(weight);
    sum.add(weight * small * task.v[key * task.dim + col]);
  }
  return sum.sum / (total.sum * small);
}

/// Recomputes the means of a piece of some queries that are not finite. One thread recomputes one mean, which takes as
/// many operations as all columns take otherwise.
///
/// Must be called by all threads of the team that has stored the means. One barrier, before it reads them.
template <class Member, class T>
KOKKOS_FUNCTION void mend(Member const& team, AttentionTask<T> const& task, std::size_t first_query, int queries,
                          int piece) {
  team.team_barrier();
  int const dim = task.dim;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, queries * dim), [&](int i) {
    std::size_t const query = first_query + i / dim;
    int const col = i % dim;
    T& mean = task.row(query, piece)[col];
    if (mean - mean != T(0)) mean = mean_of(task, query, piece, col);
  });
}

/// Returns the task with all keys in one chunk. `dim` is clamped to 257: kernels refuse any value above 256.
template <class T>
[[nodiscard]] AttentionTask<T> attention_task(std::size_t queries, std::size_t keys, std::size_t dim) {
  AttentionTask<T> task{};
  task.queries = dim > 0 ? queries : 0;
  task.dim = static_cast<int>(std::min<std::size_t>(dim, 257));
  task.chunks = {.n = keys, .size = keys};
  return task;
}

/// Returns true if every row of all four matrices can be read and written in packs of 16 bytes.
template <class T>
[[nodiscard]] bool is_aligned(AttentionTask<T> const& task) {
  constexpr int pack = collective::pack_width<T>;
  return task.dim % pack == 0 && collective::is_aligned_for_packs<pack>(task.q, task.k, task.v, task.out);
}

/// Merges the pieces of each query, in their order: out = sum_p w_p total_p means_p / sum_p w_p total_p. A functor for
/// teams of vector length 1, one team per query and `across` of its columns. Teams are small because there are few
/// bytes, and the time is spent in loads that depend on each other.
template <ExecutionSpace Exec, class T, class Tuning>
struct MergeAttention {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Online = collective::OnlineSum<T>;
  using OnlineView = ScratchView<Online*, Exec>;
  using View = ScratchView<T*, Exec>;

  static constexpr int at_once = 8;  // pieces in flight per thread

  AttentionTask<T> task;
  /// If both are set, the result is one piece: its largest score and total go here, its means to task.out. Otherwise
  /// the answer goes to task.out.
  T* largest = nullptr;
  T* total = nullptr;
  int threads;
  int parts;   // of the pieces; one thread folds a part
  int pack;    // columns that a thread handles at a time
  int across;  // columns per team
  int teams;   // per query
  int slices;  // of the pieces: ranges that are summed separately, per column

  /// \param team threads per team (0: choose), unless the Tuning fixes them
  MergeAttention(Exec const& exec, AttentionTask<T> const& given, std::int64_t team)
      : task(given),
        threads(team_size(exec, Tuning::merge_threads > 0 ? Tuning::merge_threads : team)),
        parts(std::min(given.chunks.count, threads)),
        pack(given.dim % collective::pack_width<T> == 0 ? collective::pack_width<T> : 1),
        across(std::clamp(given.dim, 1, Tuning::merge_across)),
        teams(std::max(1, (given.dim + across - 1) / across)),
        slices(std::clamp(threads * pack / across, 1, (given.chunks.count + at_once - 1) / at_once)) {}

  static void enqueue(std::string const& label, Exec const& exec, AttentionTask<T> const& task, std::int64_t team,
                      T* largest = nullptr, T* total = nullptr) {
    if (task.answers() || task.queries == 0) return;
    MergeAttention kernel(exec, task, team);
    kernel.largest = largest;
    kernel.total = total;
    Policy const policy(exec, league_of(task.queries * kernel.teams), kernel.threads);
    std::size_t const scratch = OnlineView::shmem_size(kernel.parts) + View::shmem_size(task.chunks.count) +
                                View::shmem_size(kernel.slices * kernel.across);
    Kokkos::parallel_for(label, with_scratch(policy, scratch), kernel);
  }

  /// Largest number of pieces whose weights fit into a team's scratch.
  static constexpr int most_pieces = 2048;

  /// Returns the roundings: of the merges of a part's pieces and of the parts; of a piece's weight; of a column's sum
  /// in a slice and over slices.
  [[nodiscard]] double rounding_steps() const {
    double const merges = std::ceil(static_cast<double>(task.chunks.count) / parts) + std::ceil(std::log2(parts));
    double const additions = std::ceil(static_cast<double>(task.chunks.count) / slices) + slices;
    return task.answers() ? 0 : collective::MergeOnlineSums<T>::rounding_steps * merges + 9 + additions;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    OnlineView const online(team.team_scratch(0), parts);
    View const weights(team.team_scratch(0), task.chunks.count);
    View const columns(team.team_scratch(0), slices * across);
    std::size_t const query = team.league_rank() / teams;
    int const first_col = team.league_rank() % teams * across;
    int const cols = task.dim - first_col < across ? task.dim - first_col : across;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, parts), [&](int part) {
      Online all;
      for (int piece = part; piece < task.chunks.count; piece += parts) {
        std::size_t const at = piece * task.queries + query;
        T const largest = task.largest[at];
        weights(piece) = largest;  // becomes a weight when the largest score of all pieces is known
        all = collective::MergeOnlineSums<T>{}(all, Online{largest, task.total[at]});
      }
      online(part) = all;
    });
    team::tree_reduce(team, online.data(), parts, collective::MergeOnlineSums<T>{});
    Online const all = online(0);
    T const inverse = to_mean(all, largest == nullptr);
    if (largest != nullptr && first_col == 0) {
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        largest[query] = all.max;
        total[query] = all.sum;
      });
    }
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, task.chunks.count), [&](int piece) {
      T const of_piece = task.total[piece * task.queries + query];
      weights(piece) = weight_of(weights(piece), all.max) * of_piece * inverse;
    });
    team.team_barrier();
    if (pack > 1) {
      add_slices<collective::pack_width<T>>(team, query, first_col, cols, weights.data(), columns.data());
    } else {
      add_slices<1>(team, query, first_col, cols, weights.data(), columns.data());
    }
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, cols), [&](int col) {
      T sum = 0;
      for (int slice = 0; slice < slices; ++slice) sum += columns(slice * across + col);
      task.out[query * task.dim + first_col + col] = sum;
    });
    leave_scratch(team);
  }

 private:
  // columns[slice, col] = sum of weights[piece] * means[piece, query, first_col + col] over the slice's pieces.
  template <int N>
  KOKKOS_FUNCTION void add_slices(Member const& team, std::size_t query, int first_col, int cols, T const* weights,
                                  T* columns) const {
    using Pack = collective::Pack<T, N>;
    int const packs = cols / N;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, slices * packs), [&](int i) {
      int const slice = i / packs;
      int const col = (i - slice * packs) * N;
      Pack sum{};
      for (int first = slice; first < task.chunks.count; first += at_once * slices) {
        Pack rows[at_once];
        for (int k = 0; k < at_once; ++k) {
          int const piece = first + k * slices;
          rows[k] =
              piece < task.chunks.count ? collective::pack_at<N>(task.row(query, piece) + first_col + col) : Pack{};
        }
        for (int k = 0; k < at_once; ++k) {
          int const piece = first + k * slices;
          if (piece >= task.chunks.count) break;
          for (int e = 0; e < N; ++e) sum[e] += weights[piece] * rows[k][e];
        }
      }
      for (int e = 0; e < N; ++e) columns[slice * across + col + e] = sum[e];
    });
  }
};

}  // namespace tessera::kernels::detail

namespace tessera::kernels {

/// Memory for `count` pieces of queries [queries, dim]: weighted means of values [count, queries, dim], largest scores
/// [count, queries], and sums of weights relative to them [count, queries].
template <ExecutionSpace Exec, class T>
struct AttentionPieces {
  AttentionPieces() = default;
  AttentionPieces(std::size_t queries, std::size_t dim, int count, std::string const& label)
      : queries(queries),
        dim(dim),
        count(count),
        means(memory(label + "::means", count * queries * dim)),
        largest(memory(label + "::largest", count * queries)),
        total(memory(label + "::total", count * queries)) {}

  using Numbers = Kokkos::View<T*, typename Exec::memory_space>;
  std::size_t queries = 0;
  std::size_t dim = 0;
  int count = 0;
  Numbers means;
  Numbers largest;
  Numbers total;

  /// Enqueues the reset of `some` pieces, starting at `first`, to pieces without keys.
  void clear(Exec const& exec, int first, int some) const {
    auto const fill = [&](Numbers const& of, std::size_t size, T value) {
      std::size_t const begin = first * size;
      Kokkos::deep_copy(exec, Kokkos::subview(of, Kokkos::make_pair(begin, begin + some * size)), value);
    };
    fill(means, queries * dim, T(0));
    fill(largest, queries, collective::minus_infinity<T>());
    fill(total, queries, T(0));
  }
  /// Returns the task of a kernel that writes its pieces here, starting at piece `first`.
  [[nodiscard]] detail::AttentionTask<T> as_pieces_of(detail::AttentionTask<T> task, int first) const {
    std::size_t const rows = first * queries;
    task.keeps_pieces = true;
    task.means = means.data() + rows * dim;
    task.largest = largest.data() + rows;
    task.total = total.data() + rows;
    task.out = task.means;
    return task;
  }

 private:
  [[nodiscard]] static Numbers memory(std::string const& label, std::size_t n) { return Numbers(unset(label), n); }
};

/// Base of the objects that compute out = softmax(scale * q k^T) v: provides the calls on Views. `Kernel` derives from
/// it, chooses the chunks of `task_` and has a member `enqueue(exec, task)`, which enqueues the computation of the
/// task's pieces or, unless the task keeps them, of the answer.
template <class Kernel, ExecutionSpace Exec, class T>
class AttentionOfViews {
 public:
  static constexpr std::size_t most_columns = 256;  ///< of a row

  /// Enqueues. `q`, `out` [queries, dim] and `k`, `v` [keys, dim] must be contiguous and row-major; `out` must not
  /// overlap the others. Without keys, `out` becomes zeros. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> Q, Readable<Exec, T, 2> K, Readable<Exec, T, 2> V, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out, T scale = 1) const {
    require_apart(out, q, k, v);
    auto task = on_arrays(q, k, v, task_.chunks.n, scale);
    task.out = row_major(out, queries_, task.dim);
    if (task.chunks.n == 0) return Kokkos::deep_copy(exec, out, T(0));
    static_cast<Kernel const&>(*this).enqueue(exec, task);
  }

  /// Enqueues the computation of pieces without merging them: writes pieces() pieces to `pieces`, starting at piece
  /// `first`. `q` [queries, dim] and `k`, `v` [n, dim] as above, n at most `keys`; chunks past n give pieces without
  /// keys.
  template <Readable<Exec, T, 2> Q, Readable<Exec, T, 2> K, Readable<Exec, T, 2> V>
  void operator()(Exec const& exec, Q const& q, K const& k, V const& v, AttentionPieces<Exec, T> const& pieces,
                  int first, T scale) const {
    if (k.extent(0) == 0) return pieces.clear(exec, first, this->pieces());
    auto const task = on_arrays(q, k, v, std::min(task_.chunks.n, k.extent(0)), scale);  // refuses more keys
    static_cast<Kernel const&>(*this).enqueue(exec, pieces.as_pieces_of(task, first));
  }

  /// Returns the number of pieces, which is the same for any number of keys up to `keys`.
  [[nodiscard]] int pieces() const { return task_.chunks.count; }
  /// Returns the roundings on the longest path of a sum of weights or of weighted values. Merging is not counted if the
  /// object only makes pieces.
  [[nodiscard]] double rounding_steps() const { return steps_; }

 protected:
  AttentionOfViews(std::size_t queries, std::size_t keys, std::size_t dim, std::string label)
      : label_(std::move(label)), queries_(queries), task_(detail::attention_task<T>(queries, keys, dim)) {}

  std::string label_;
  std::size_t queries_;  ///< rows of q; the task itself has none if rows have no columns
  detail::AttentionTask<T> task_;
  double steps_ = 0;

 private:
  template <class Q, class K, class V>
  [[nodiscard]] detail::AttentionTask<T> on_arrays(Q const& q, K const& k, V const& v, std::size_t keys,
                                                   T scale) const {
    auto task = task_;
    task.q = row_major(q, queries_, task.dim);
    task.k = row_major(k, keys, task.dim);
    task.v = row_major(v, keys, task.dim);
    task.chunks.n = keys;
    task.scale = scale;
    return task;
  }
};

}  // namespace tessera::kernels
