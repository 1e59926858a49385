#pragma once
/// \file
/// Rows copied in packs: what row_vector runs, for one width of packs.

#include <cstddef>
#include <cstdint>

#include "problem.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/kernels/chunks.hpp>

namespace tessera::embedding {

/// A thread takes `Rows` rows at a time; its lanes copy them in packs of N, `Parts` packs of each row under way. With N
/// > 1 table and output must begin on the boundary of such a pack, and rows be whole packs.
template <class Exec, class T, int N, int Rows, int Parts>
struct RowCopies {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Pack = collective::Pack<T, N>;

  Lookup<T> of;
  kernels::Chunks chunks;  // of positions
  bool streaming;          // the output passes a host's caches by

  /// \param lanes vector lanes of a thread
  static void enqueue(Exec const& exec, Lookup<T> const& of, int threads, int lanes) {
    std::size_t const tile = static_cast<std::size_t>(threads) * Rows;
    // On a GPU a team for each tile of rows, up to what a league can have; on hosts a chunk of rows for each thread.
    std::size_t const teams = is_gpu<Exec> ? std::size_t{1} << 30 : kernels::teams_that_fill(exec, threads);
    bool const streaming = N * sizeof(T) == 16 && collective::streams<Exec>(of.positions * of.width * sizeof(T));
    RowCopies const kernel{of, kernels::split(of.positions, tile, teams), streaming};
    Kokkos::parallel_for("tessera::embedding::row_vector::copy", Policy(exec, kernel.chunks.count, threads, lanes),
                         kernel);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto const threads = static_cast<std::size_t>(team.team_size());
    std::size_t const end = chunks.end(team.league_rank());
    for (std::size_t first = chunks.begin(team.league_rank()) + team.team_rank(); first < end;
         first += threads * Rows) {
      // This thread's rows are first, first + threads, ...: a warp's accesses stay together. The row of zeros is none.
      T const* from[Rows];
      T* to[Rows];
      for (int k = 0; k < Rows; ++k) {
        std::size_t const position = first + k * threads;
        from[k] = position < end ? of.row_of(position) : nullptr;
        to[k] = position < end ? of.out + position * of.width : nullptr;
      }
      auto const packs = static_cast<std::int32_t>(of.width / N);
      std::int32_t const apart = (packs + Parts - 1) / Parts;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, apart), [&](std::int32_t pack) {
        Pack values[Rows][Parts];
        for (int k = 0; k < Rows; ++k) {
          for (int p = 0; p < Parts; ++p) {
            std::size_t const at = static_cast<std::size_t>(pack + p * apart) * N;
            values[k][p] =
                from[k] != nullptr && pack + p * apart < packs ? collective::pack_at<N>(from[k] + at) : Pack{};
          }
        }
        for (int k = 0; k < Rows; ++k) {
          for (int p = 0; p < Parts; ++p) {
            std::size_t const at = static_cast<std::size_t>(pack + p * apart) * N;
            if (to[k] != nullptr && pack + p * apart < packs) store(to[k] + at, values[k][p]);
          }
        }
      });
    }
    if (streaming) collective::streaming_fence();
  }

 private:
  KOKKOS_FUNCTION void store(T* to, Pack const& values) const {
    if constexpr (N * sizeof(T) == 16) {
      if (streaming) return collective::streaming_store(to, values);
    }
    collective::pack_at<N>(to) = values;
  }
};

}  // namespace tessera::embedding
