#pragma once
/// \file
/// Attention, out = softmax(scale * q k^T) v, which keeps no score in memory. It chooses between two kernels: that of
/// key_stream_attention.hpp for few queries, that of query_tile_attention.hpp for many.
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
#include <tessera/kernels/attention_pieces.hpp>
#include <tessera/kernels/key_stream_attention.hpp>
#include <tessera/kernels/query_tile_attention.hpp>
#include <tessera/kernels/views.hpp>

namespace tessera::kernels {

/// out = softmax(scale * q k^T) v, by the kernel that is faster for so many queries.
///
/// Constructed once, as KeyStreamAttention is. Calls only enqueue; those of one object must not run at the same time.
template <ExecutionSpace Exec, class T>
class Attention {
  using Few = KeyStreamAttention<Exec, T>;
  using Many = QueryTileAttention<Exec, T>;

 public:
  /// \param queries, dim of q [queries, dim]; \param keys of k and v [keys, dim]; a call for pieces may have fewer
  /// \param chunks into which the keys are cut, for few queries; 0: choose. \param team threads of a team; 0: choose
  /// \param label what Kokkos' tools call it. \param only_pieces whether only pieces will be asked for, and no answer
  ///
  /// Throws Skip if the space cannot give so many threads, or their scratch, or if there are more than 256 columns.
  Attention(Exec const& exec, std::size_t queries, std::size_t keys, std::size_t dim, std::int64_t chunks = 0,
            std::int64_t team = 0, std::string const& label = "tessera::attention", bool only_pieces = false)
      : kernel_(are_many(exec, queries)
                    ? Kernel(std::in_place_type<Many>, exec, queries, keys, dim, team, label)
                    : Kernel(std::in_place_type<Few>, exec, queries, keys, dim, chunks, team, label, only_pieces)) {}

  /// Enqueues it. `q`, `out` [queries, dim], `k`, `v` [keys, dim], row after row in memory; `out` overlaps none of the
  /// others. Without keys it becomes zeros. Throws std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 2> Q, Readable<Exec, T, 2> K, Readable<Exec, T, 2> V, Writable<Exec, T, 2> Out>
  void operator()(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out, T scale = 1) const {
    std::visit([&](auto const& kernel) { kernel(exec, q, k, v, out, scale); }, kernel_);
  }

  /// Enqueues the pieces of an answer, without merging them: they are written to `pieces`, from piece `first` on,
  /// pieces() of them. `q` [queries, dim], `k`, `v` [n, dim], as above, n at most `keys`.
  template <Readable<Exec, T, 2> Q, Readable<Exec, T, 2> K, Readable<Exec, T, 2> V>
  void operator()(Exec const& exec, Q const& q, K const& k, V const& v, AttentionPieces<Exec, T> const& pieces,
                  int first, T scale) const {
    std::visit([&](auto const& kernel) { kernel(exec, q, k, v, pieces, first, scale); }, kernel_);
  }

  /// The number of pieces, the same for any number of keys up to `keys`.
  [[nodiscard]] int pieces() const {
    return std::visit([](auto const& kernel) { return kernel.pieces(); }, kernel_);
  }
  /// Roundings of a sum of weights or of weighted values on the longest way; those of merging are left out if only
  /// pieces are made.
  [[nodiscard]] double rounding_steps() const {
    return std::visit([](auto const& kernel) { return kernel.rounding_steps(); }, kernel_);
  }

 private:
  using Kernel = std::variant<Few, Many>;

  // Whether tiles of so many queries fill the machine: from there on QueryTileAttention is faster on a GPU. (On a host
  // KeyStreamAttention is faster for any number of queries.)
  [[nodiscard]] static bool are_many(Exec const& exec, std::size_t queries) {
    // One tile of 64 queries for each 2048 threads, those of a multiprocessor.
    return is_gpu<Exec> && queries >= static_cast<std::size_t>(exec.concurrency()) / 2048 * 64;
  }

  Kernel kernel_;
};

/// out = softmax(scale * q k^T) v. `q`, `out` [queries, dim], `k`, `v` [keys, dim], dim up to 256 (more: throws Skip). For
/// a single use: it allocates, enqueues, and waits.
template <ExecutionSpace Exec, class Q, class K, class V, class Out>
void attention(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out,
               typename Q::non_const_value_type scale = 1) {
  Attention<Exec, typename Q::non_const_value_type> const kernel(exec, q.extent(0), k.extent(0), q.extent(1));
  kernel(exec, q, k, v, out, scale);
  exec.fence("tessera: attention");  // the kernel's memory is freed at the end of this scope
}

}  // namespace tessera::kernels
