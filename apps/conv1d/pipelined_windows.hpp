#pragma once
/// \file
/// The kernel of async_halo and loader_threads: a team goes through a chunk tile by tile and has two windows in
/// scratch. A window is a tile with its halo. The team makes outputs from one window while the other window is filled
/// with the next tile, by asynchronous copies if the device has them. Either every thread does both, or some threads
/// only load and the others only multiply.
///
/// There is one barrier per tile: after it the next window is complete, and no thread reads the current window any
/// more.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "problem.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/thread/correlate.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/conv1d.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

/// \tparam Copies the hardware's copies, or a test's mock
/// \tparam length outputs that a thread makes at a time, a multiple of the pack's length
template <class Exec, class T, collective::AsyncCopies Copies, int length>
struct PipelinedWindows {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  static constexpr int pack = collective::pack_width<T>;
  static_assert(length % pack == 0);
  // Scratch is an array of packs, so that it is aligned for them.
  using Scratch = ScratchView<collective::Pack<T, pack>*, Exec>;

  T const* a;
  T const* k;
  T* out;
  kernels::Chunks chunks;  // one per team
  int taps;
  int tile;
  int loaders;  // threads that only load; 0: each thread loads and multiplies

  /// Returns the number of packs per window. The last run may reach past the tile.
  [[nodiscard]] KOKKOS_FUNCTION static int window_packs(int tile, int taps) {
    return (tile + taps - 1 + length + pack - 1) / pack;
  }
  [[nodiscard]] KOKKOS_FUNCTION static int tap_packs(int taps) { return (taps + pack - 1) / pack; }
  [[nodiscard]] static std::size_t scratch_bytes(int tile, int taps) {
    return Scratch::shmem_size(2 * window_packs(tile, taps)) + Scratch::shmem_size(tap_packs(taps));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const packs = window_packs(tile, taps);
    Scratch const window_scratch(team.team_scratch(0), 2 * packs);
    Scratch const tap_scratch(team.team_scratch(0), tap_packs(taps));
    T* current = reinterpret_cast<T*>(window_scratch.data());
    T* next = current + packs * pack;
    T* const factors = reinterpret_cast<T*>(tap_scratch.data());
    int const rank = team.team_rank();
    bool const loads = loaders == 0 || rank < loaders;
    bool const multiplies = loaders == 0 || rank >= loaders;
    int const loading = loaders == 0 ? team.team_size() : loaders;
    int const multiplying = team.team_size() - loaders;
    std::size_t const end = chunks.end(team.league_rank());
    Copies const copies;

    std::size_t begin = chunks.begin(team.league_rank());
    if (loads) start(rank, loading, copies, begin, current);
    for (int j = rank; j < taps; j += team.team_size()) factors[j] = k[j];
    copies.commit();
    copies.template wait<0>();
    team.team_barrier();
    for (; begin < end; begin += tile) {
      if (loads && begin + tile < end) start(rank, loading, copies, begin + tile, next);
      copies.commit();
      if (multiplies) multiply(rank - loaders, multiplying, current, factors, begin, end);
      copies.template wait<0>();
      team.team_barrier();
      T* const used = current;
      current = next;
      next = used;
    }
  }

 private:
  // Starts the copies of the window that begins at `begin`, up to the array's end: no output uses anything past the
  // end.
  KOKKOS_FUNCTION void start(int worker, int workers, Copies const& copies, std::size_t begin, T* window) const {
    constexpr int bytes = static_cast<int>(sizeof(T));
    int const left = thread::clamped_count(chunks.n - begin);
    int const count = left < tile + taps - 1 ? left : tile + taps - 1;
    int const packs = collective::is_aligned_for_packs<pack>(a + begin) ? count / pack : 0;
    for (int i = worker * pack; i < packs * pack; i += workers * pack) {
      copies.template copy_async<pack * bytes>(window + i, a + begin + i, true);
    }
    for (int i = packs * pack + worker; i < count; i += workers) {
      copies.template copy_async<bytes>(window + i, a + begin + i, true);
    }
  }

  // Makes the outputs of a tile, `length` neighbours at a time.
  KOKKOS_FUNCTION void multiply(int worker, int workers, T const* window, T const* factors, std::size_t begin,
                                std::size_t end) const {
    int const places = tile + taps - 1;
    int const left = thread::clamped_count(chunks.n - begin);
    int const count = thread::clamped_count(end - begin) < tile ? thread::clamped_count(end - begin) : tile;
    bool const aligned = collective::is_aligned_for_packs<pack>(out + begin);
    for (int offset = worker * length; offset < count; offset += workers * length) {
      Accumulator<T> sums[length] = {};
      thread::correlate<length, T>(thread::Span<T, true>{window + offset, places - offset},
                                   thread::Span<T, true>{factors, taps}, taps, left - offset, sums);
      thread::store_sums<length>(sums, count - offset, aligned, out + begin + offset);
    }
  }
};

/// Chooses the kernel's chunks and tile, and launches it. Throws Skip if the space cannot give the threads or the
/// scratch.
template <ExecutionSpace Exec, class T>
class PipelinedPlan {
 public:
  /// \param threads threads per team
  /// \param loaders number of threads that only load; 0: each thread loads and multiplies
  PipelinedPlan(std::string label, Exec const& exec, InputOn<Conv1d, Exec, T> const& input, int threads, int loaders)
      : label_(std::move(label)),
        threads_(threads),
        loaders_(loaders),
        taps_(static_cast<int>(std::max<std::size_t>(1, taps_of(input.a, input.k)))),
        tile_(kernels::scratch_tile<Exec>(input.parameters.tile, 2 * sizeof(T),
                                          (3 * taps_of(input.a, input.k) + 2 * length + 8 * Kernel::pack) * sizeof(T))),
        chunks_(kernels::chunks_of(exec, input.a.extent(0), tile_, threads)) {}

  void operator()(Exec const& exec, InputOn<Conv1d, Exec, T> const& input,
                  OutputOn<Conv1d, Exec, T> const& output) const {
    if (chunks_.n == 0) return;
    Kokkos::TeamPolicy<Exec> const policy(exec, chunks_.count, threads_);
    Kokkos::parallel_for(label_, with_scratch(policy, Kernel::scratch_bytes(tile_, taps_)),
                         Kernel{input.a.data(), input.k.data(), output.out.data(), chunks_, taps_, tile_, loaders_});
  }

 private:
  static constexpr int length = kernels::Conv1dTuning<Exec, T>::items;
  using Kernel = PipelinedWindows<Exec, T, collective::HardwareCopies, length>;

  std::string label_;
  int threads_;
  int loaders_;
  int taps_;
  int tile_;
  kernels::Chunks chunks_;
};

}  // namespace tessera::conv1d
