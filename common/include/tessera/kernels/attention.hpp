#pragma once
/// \file
/// Attention, out = softmax(scale * q k^T) v, without a score in memory: for few queries key_stream_attention.hpp, for
/// many query_tile_attention.hpp. This is the function for a single use, which chooses.
///
/// Example, one query, two keys with scores 0 and ln 3: out = (v_0 + 3 v_1) / 4.
///
/// Use:  attention(exec, q, k, v, out, scale);

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/key_stream_attention.hpp>
#include <tessera/kernels/query_tile_attention.hpp>

namespace tessera::kernels {

/// True if tiles of so many queries fill the machine: from there on they are ahead on a GPU. (A host streams keys faster
/// whatever the number of queries.)
template <ExecutionSpace Exec>
[[nodiscard]] bool are_many_queries(Exec const& exec, std::size_t queries) {
  // Tiles of 64 queries, one for each 2048 threads: a multiprocessor's.
  return is_gpu<Exec> && queries >= static_cast<std::size_t>(exec.concurrency()) / 2048 * 64;
}

/// out = softmax(scale * q k^T) v. `q`, `out` [queries, dim], `k`, `v` [keys, dim], dim up to 256 (more: throws Skip). For
/// a single use: it allocates, enqueues, and waits.
template <ExecutionSpace Exec, class Q, class K, class V, class Out>
void attention(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out,
               typename Q::non_const_value_type scale = 1) {
  using T = typename Q::non_const_value_type;
  if (are_many_queries(exec, q.extent(0))) {
    QueryTileAttention<Exec, T> const kernel(exec, q.extent(0), k.extent(0), q.extent(1));
    kernel(exec, q, k, v, out, scale);
    exec.fence("tessera: attention");
  } else {
    KeyStreamAttention<Exec, T> const kernel(exec, q.extent(0), k.extent(0), q.extent(1));
    kernel(exec, q, k, v, out, scale);
    exec.fence("tessera: attention");  // the kernel's memory is freed at the end of this scope
  }
}

}  // namespace tessera::kernels
