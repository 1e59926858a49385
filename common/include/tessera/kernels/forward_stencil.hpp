#pragma once
/// \file
/// Stencils that look at an element and the next few of its segment (thread/forward_stencil.hpp says what a stencil
/// is), over a whole array: by lanes that exchange their neighbours' elements, or through team scratch with a halo.
///
/// Each is constructed once (chooses tiles; may throw Skip) and called many times: one launch, 2n elements of traffic.
/// `in` and `out` hold n elements each and must not overlap.
///
/// Example, difference with the next element, n = 6, segments of 3: 1 4 9 16 25 36 -> 3 5 0 9 11 0.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/segments.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/collective/team/halo_tile.hpp>
#include <tessera/collective/thread/forward_stencil.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/stencil_shape.hpp>
#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::kernels {

namespace detail {

template <class Exec, class T, class Stencil>
struct LaneShiftKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  static constexpr int rows = 4;
  static constexpr int pack = natural_pack<Exec, T>;
  static constexpr int part = rows * Lanes::width * pack;  // elements that a thread takes at a time
  using Items = thread::Rows<T, rows, pack>;

  Stencil stencil;
  T const* in;
  T* out;
  collective::Segments segments;
  std::size_t tile;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    std::size_t const n = segments.size();
    std::size_t const tile_begin = static_cast<std::size_t>(team.league_rank()) * tile;
    std::size_t const tile_end = tile < n - tile_begin ? tile_begin + tile : n;
    for (std::size_t begin = tile_begin + static_cast<std::size_t>(team.team_rank()) * part; begin < tile_end;
         begin += static_cast<std::size_t>(team.team_size()) * part) {
      collective::SegmentedPart const where = segments.part(begin);
      typename Lanes::template Value<Items> values;
      // Loaded as far as the array goes, stored as far as the tile goes: the tile's last elements look past its end.
      thread::load_rows(lanes, in + begin, where.count < part ? where.count : part, T(0), values);
      thread::stencil_on_rows<Items>(lanes, stencil, in + begin, where, values);
      thread::store_rows(lanes, out + begin, thread::count_before(begin, tile_end, part), values);
    }
  }
};

// N elements at a time, with N a multiple of those in 16 bytes.
template <class Exec, class T, class Stencil, int N>
struct ScratchKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Pack = collective::Pack<T, N>;
  // Packs, for their alignment.
  using Scratch = Kokkos::View<Pack*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  Stencil stencil;
  T const* in;
  T* out;
  collective::Segments segments;
  team::HaloTile<T> shape;
  bool streaming;

  /// Packs of scratch for the tile, its halo, and what the last pack has too many.
  [[nodiscard]] KOKKOS_FUNCTION static constexpr int places(team::HaloTile<T> const& shape) {
    return (shape.places() + N - 1) / N + 1;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), places(shape));
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * shape.size;
    collective::SegmentedPart const where = segments.part(begin);
    int const count = where.count < shape.size ? where.count : shape.size;
    bool const uncut = where.is_uncut(shape.size + shape.right);
    T const* const tile = shape.load(team, in, segments.size(), begin, T(0), reinterpret_cast<T*>(scratch.data()));
    team.team_barrier();
    bool const aligned = collective::is_aligned_for_packs<N>(out + begin);
    team::detail::for_each_of_team(team, (count + N - 1) / N, [&](int p) {
      int const offset = p * N;
      T* const to = out + begin + offset;
      Pack const result = thread::stencil_on_pack<N>(stencil, tile + offset, where, offset, uncut);
      if (!aligned || offset + N > count) {
        for (int e = 0; e < N && offset + e < count; ++e) to[e] = result[e];
      } else if (streaming) {
        stream(to, result);
      } else {
        collective::pack_at<N>(to) = result;
      }
    });
    if (streaming) collective::streaming_fence();
    team.team_barrier();  // hosts go on with the next tile in the same scratch
  }

  KOKKOS_FUNCTION static void stream(T* to, Pack const& values) {
    constexpr int width = collective::pack_width<T>;
    for (int e = 0; e < N; e += width) {
      collective::streaming_store(to + e, collective::pack_at<width>(values.at + e));
    }
  }
};

}  // namespace detail

/// Lanes hold rows of packs in registers and exchange what their neighbours look at. No scratch.
template <ExecutionSpace Exec, class T, class Stencil>
class LaneShiftStencil {
 public:
  LaneShiftStencil(Exec const& exec, StencilShape const& shape)
      : segments_(shape.n, shape.segment),
        threads_(team_size(exec, shape.team, vector_length)),
        // On a GPU one part a thread; on a host enough that a team is worth starting.
        tile_(static_cast<std::size_t>(shape.tile > 0 ? shape.tile : Kernel::part * (is_gpu<Exec> ? threads_ : 32))) {}

  void operator()(std::string const& label, Exec const& exec, Stencil const& stencil, T const* in, T* out) const {
    if (segments_.size() == 0) return;
    typename Kernel::Policy const policy(exec, static_cast<int>(tiles_of(segments_.size(), tile_)), threads_,
                                         vector_length);
    Kokkos::parallel_for(label, policy, Kernel{stencil, in, out, segments_, tile_});
  }

 private:
  using Kernel = detail::LaneShiftKernel<Exec, T, Stencil>;
  static constexpr int vector_length = lane::vector_length<Exec>(Kernel::Lanes::width);

  collective::Segments segments_;
  int threads_;
  std::size_t tile_;
};

/// Tiles with the stencil's reach as right halo in team scratch.
template <ExecutionSpace Exec, class T, class Stencil>
class ScratchStencil {
 public:
  ScratchStencil(Exec const& exec, StencilShape const& shape)
      : segments_(shape.n, shape.segment),
        threads_(team_size(exec, shape.team)),
        tile_{.left = 0,
              .size = scratch_tile<Exec>(shape.tile, sizeof(T), (Stencil::reach + 2 * natural_pack<Exec, T>)*sizeof(T)),
              .right = Stencil::reach},
        streaming_(collective::streams<Exec>(shape.n * sizeof(T))) {}

  void operator()(std::string const& label, Exec const& exec, Stencil const& stencil, T const* in, T* out) const {
    if (segments_.size() == 0) return;
    typename Kernel::Policy policy(exec, static_cast<int>(tiles_of(segments_.size(), tile_.size)), threads_);
    auto const bytes = static_cast<int>(Kernel::Scratch::shmem_size(Kernel::places(tile_)));
    Kokkos::parallel_for(label, policy.set_scratch_size(0, Kokkos::PerTeam(bytes)),
                         Kernel{stencil, in, out, segments_, tile_, streaming_});
  }

 private:
  using Kernel = detail::ScratchKernel<Exec, T, Stencil, natural_pack<Exec, T>>;

  collective::Segments segments_;
  int threads_;
  team::HaloTile<T> tile_;
  bool streaming_;
};

}  // namespace tessera::kernels
