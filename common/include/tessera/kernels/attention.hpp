#pragma once
/// \file
/// Attention without a score matrix in memory: out = softmax(scale * q k^T) v. Chooses between two kernels:
/// key_stream_attention.hpp for few queries and query_tile_attention.hpp for many.
///
/// Example, one query, two keys with scores 0 and ln 3: out = (v_0 + 3 v_1) / 4.
///
/// Use:  attention(exec, q, k, v, out, scale);
///   or  Attention<Exec, float> attend(exec, queries, keys, dim);  attend(exec, q, k, v, out, scale);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/attention/attention_pieces.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/key_stream_attention.hpp>
#include <tessera/kernels/query_tile_attention.hpp>

namespace tessera::kernels {

/// out = softmax(scale * q k^T) v, by the kernel that is faster for the number of queries.
///
/// Construct it once per problem size; a call only enqueues. Calls on one object must not run concurrently.
template <ExecutionSpace Exec, class T>
class Attention {
  using Few = KeyStreamAttention<Exec, T>;
  using Many = QueryTileAttention<Exec, T>;

 public:
  /// \param queries, dim extents of q [queries, dim]
  /// \param keys rows of k and v [keys, dim]; a call that writes pieces may have fewer
  /// \param chunks number of chunks of keys, if there are few queries; 0: choose
  /// \param team threads per team; 0: choose
  /// \param label kernel name that Kokkos Tools reports
  /// \param only_pieces true if only pieces will be requested, and never a complete answer
  ///
  /// Throws Skip if the space cannot provide the threads or their scratch, or if `dim` is above 256.
  Attention(Exec const& exec, std::size_t queries, std::size_t keys, std::size_t dim, std::int64_t chunks = 0,
            std::int64_t team = 0, std::string const& label = "tessera::attention", bool only_pieces = false)
      : kernel_(are_many(exec, queries)
                    ? Kernel(std::in_place_type<Many>, exec, queries, keys, dim, team, label)
                    : Kernel(std::in_place_type<Few>, exec, queries, keys, dim, chunks, team, label, only_pieces)) {}

  /// Enqueues. `q`, `out` [queries, dim] and `k`, `v` [keys, dim] must be contiguous and row-major; `out` must not
  /// overlap the others. Without keys, `out` becomes zeros. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> Q, Readable<Exec, T, 2> K, Readable<Exec, T, 2> V, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out, T scale = 1) const {
    std::visit([&](auto const& kernel) { kernel(exec, q, k, v, out, scale); }, kernel_);
  }

  /// Enqueues the computation of pieces without merging them: writes pieces() pieces to `pieces`, starting at piece
  /// `first`. `q` [queries, dim] and `k`, `v` [n, dim] as above, n at most `keys`.
  template <Readable<Exec, T, 2> Q, Readable<Exec, T, 2> K, Readable<Exec, T, 2> V>
  void operator()(Exec const& exec, Q const& q, K const& k, V const& v, AttentionPieces<Exec, T> const& pieces,
                  int first, T scale) const {
    std::visit([&](auto const& kernel) { kernel(exec, q, k, v, pieces, first, scale); }, kernel_);
  }

  /// Returns the number of pieces, which is the same for any number of keys up to `keys`.
  [[nodiscard]] int pieces() const {
    return std::visit([](auto const& kernel) { return kernel.pieces(); }, kernel_);
  }
  /// Returns the roundings on the longest path of a sum of weights or of weighted values. Merging is not counted if the
  /// object only makes pieces.
  [[nodiscard]] double rounding_steps() const {
    return std::visit([](auto const& kernel) { return kernel.rounding_steps(); }, kernel_);
  }

 private:
  using Kernel = std::variant<Few, Many>;

  // True if tiles of queries fill the GPU: from this number on QueryTileAttention is faster. On a host
  // KeyStreamAttention is faster for any number of queries.
  [[nodiscard]] static bool are_many(Exec const& exec, std::size_t queries) {
    // One tile of 64 queries per 2048 threads, the threads of one multiprocessor.
    return is_gpu<Exec> && queries >= static_cast<std::size_t>(exec.concurrency()) / 2048 * 64;
  }

  Kernel kernel_;
};

/// out = softmax(scale * q k^T) v. `q`, `out` [queries, dim], `k`, `v` [keys, dim]. Throws Skip if dim is above 256.
/// Convenience for a single call: allocates, enqueues and waits.
template <ExecutionSpace Exec, class Q, class K, class V, class Out>
void attention(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out,
               typename Q::non_const_value_type scale = 1) {
  Attention<Exec, typename Q::non_const_value_type> const kernel(exec, q.extent(0), k.extent(0), q.extent(1));
  kernel(exec, q, k, v, out, scale);
  exec.fence("tessera: attention");  // the kernel's memory is freed at the end of this scope
}

}  // namespace tessera::kernels
