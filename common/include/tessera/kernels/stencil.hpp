#pragma once
/// \file
/// Stencils over an array: each result depends on the element and the next few elements of its segment. Two kernels:
/// one whose lanes exchange elements with their neighbours, and one with tiles and halos in team scratch. One launch,
/// 2n elements of traffic.
///
/// A stencil is a type for device code with `static constexpr int reach` and `T operator()(T const* window, int
/// present) const`; see collective/thread/forward_stencil.hpp.
///
/// Example, difference with the next element, n = 6, segments of 3: 1 4 9 16 25 36 -> 3 5 0 9 11 0.
///
/// Use:  apply_stencil(exec, Difference<float>{}, segment, in, out);
/// or, enqueued many times:
///   LaneStencil<Exec, float, Difference<float>> difference(exec, {.n = n, .segment = segment});
///   difference(exec, in, out);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/segments.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/collective/team/halo_tile.hpp>
#include <tessera/collective/thread/forward_stencil.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/segment_shape.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/array_kernel.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::kernels {

/// Tuning parameters of LaneStencil and ScratchStencil.
template <ExecutionSpace Exec, class T>
struct StencilTuning : PartsTuning<Exec> {
  static constexpr int lanes = lane::natural_width<Exec>;  ///< LaneStencil: lanes per thread
  static constexpr int rows = 4;  ///< LaneStencil: packs in flight per lane, which hide memory latency
  static constexpr int pack = natural_pack<Exec, T>;  ///< elements that are processed at a time
};

namespace detail {

template <class Exec, class T, class Stencil, class Tuning>
struct LaneStencilKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  static constexpr int part = Tuning::rows * Lanes::width * Tuning::pack;  // elements that a thread handles at a time
  using Items = thread::Rows<T, Tuning::rows, Tuning::pack>;

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
      // Loads extend to the end of the array, stores to the end of the tile: the tile's last elements need some
      // elements past its end.
      thread::load_rows(lanes, in + begin, where.count < part ? where.count : part, T(0), values);
      thread::stencil_on_rows<Items>(lanes, stencil, in + begin, where, values);
      thread::store_rows(lanes, out + begin, thread::count_before(begin, tile_end, part), values);
    }
  }
};

template <class Exec, class T, class Stencil, class Tuning>
struct ScratchStencilKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  static constexpr int N = Tuning::pack;  // a multiple of the elements in 16 bytes
  using Pack = collective::Pack<T, N>;
  // Scratch is an array of packs, so that it is aligned for them.
  using Scratch = ScratchView<Pack*, Exec>;

  Stencil stencil;
  T const* in;
  T* out;
  collective::Segments segments;
  team::HaloTile<T> shape;
  bool streaming;

  /// Returns the packs of scratch for the tile and its halo, rounded up to whole packs.
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
    if (!is_gpu<Exec> && uncut && !streaming) {
      // Hosts' compilers vectorise a plain loop, but not a pack whose elements share their operands.
      team::detail::for_each_of_team(team, count,
                                     [&](int i) { out[begin + i] = stencil(tile + i, Stencil::reach + 1); });
      leave_scratch(team);
      return;
    }
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
    leave_scratch(team);
  }

  KOKKOS_FUNCTION static void stream(T* to, Pack const& values) {
    constexpr int width = collective::pack_width<T>;
    for (int e = 0; e < N; e += width) {
      collective::streaming_store(to + e, collective::pack_at<width>(values.at + e));
    }
  }
};

}  // namespace detail

/// out[i] = stencil(in[i], in[i + 1] ...), for the elements in the segment of in[i]. Lanes hold rows of packs in
/// registers and exchange the elements that their neighbours need: no scratch, no barriers.
///
/// Construct it once: chooses teams and tiles, allocates nothing, may throw Skip. A call only enqueues; calls on one
/// object may run concurrently. `in` and `out` must not overlap; a call throws std::invalid_argument if one is strided
/// or does not have n elements.
template <ExecutionSpace Exec, class T, class Stencil, class Tuning = StencilTuning<Exec, T>>
class LaneStencil : public ArrayKernel<LaneStencil<Exec, T, Stencil, Tuning>, Exec, T> {
  using Base = ArrayKernel<LaneStencil, Exec, T>;
  friend Base;
  using Kernel = detail::LaneStencilKernel<Exec, T, Stencil, Tuning>;
  static constexpr int vector_length = lane::vector_length<Exec>(Kernel::Lanes::width);

 public:
  /// \param label kernel name that Kokkos Tools reports
  LaneStencil(Exec const& exec, SegmentShape const& shape, std::string label = "tessera::stencil",
              Stencil const& stencil = {})
      : Base(shape.n, std::move(label)),
        stencil_(stencil),
        segments_(shape.n, shape.segment, shape.first),
        threads_(team_size(exec, shape.team, vector_length)),
        tile_(static_cast<std::size_t>(shape.tile > 0 ? shape.tile : Kernel::part * Tuning::parts(threads_))) {}

 private:
  void enqueue(Exec const& exec, T const* in, T* out) const {
    typename Kernel::Policy const policy(exec, league_of(tiles_of(this->n_, tile_)), threads_, vector_length);
    Kokkos::parallel_for(this->label_, policy, Kernel{stencil_, in, out, segments_, tile_});
  }

  Stencil stencil_;
  collective::Segments segments_;
  int threads_;
  std::size_t tile_;
};

/// As LaneStencil, with tiles in team scratch whose right halo is the reach of the stencil.
template <ExecutionSpace Exec, class T, class Stencil, class Tuning = StencilTuning<Exec, T>>
class ScratchStencil : public ArrayKernel<ScratchStencil<Exec, T, Stencil, Tuning>, Exec, T> {
  using Base = ArrayKernel<ScratchStencil, Exec, T>;
  friend Base;
  using Kernel = detail::ScratchStencilKernel<Exec, T, Stencil, Tuning>;

 public:
  /// \param label kernel name that Kokkos Tools reports
  ScratchStencil(Exec const& exec, SegmentShape const& shape, std::string label = "tessera::stencil",
                 Stencil const& stencil = {})
      : Base(shape.n, std::move(label)),
        stencil_(stencil),
        segments_(shape.n, shape.segment, shape.first),
        threads_(team_size(exec, shape.team)),
        tile_{.left = 0,
              .size = scratch_tile<Exec>(shape.tile, sizeof(T), (Stencil::reach + 2 * Tuning::pack) * sizeof(T)),
              .right = Stencil::reach},
        streaming_(collective::streams<Exec>(shape.n * sizeof(T))) {}

 private:
  void enqueue(Exec const& exec, T const* in, T* out) const {
    typename Kernel::Policy policy(exec, league_of(tiles_of(this->n_, static_cast<std::size_t>(tile_.size))), threads_);
    Kokkos::parallel_for(this->label_, with_scratch(policy, Kernel::Scratch::shmem_size(Kernel::places(tile_))),
                         Kernel{stencil_, in, out, segments_, tile_, streaming_});
  }

  Stencil stencil_;
  collective::Segments segments_;
  int threads_;
  team::HaloTile<T> tile_;
  bool streaming_;
};

/// The faster kernel: LaneStencil on a GPU, ScratchStencil on a host.
template <ExecutionSpace Exec, class T, class Stencil>
using StencilKernel = std::conditional_t<is_gpu<Exec>, LaneStencil<Exec, T, Stencil>, ScratchStencil<Exec, T, Stencil>>;

/// out[i] = stencil(in[i], in[i + 1] ...), for the elements in the segment. `in` and `out` [n] must be contiguous and
/// must not overlap; `segment` elements per segment, 0: the whole array is one segment. Convenience for a single call:
/// enqueues and waits.
template <ExecutionSpace Exec, class Stencil, class In, class Out>
void apply_stencil(Exec const& exec, Stencil const& stencil, std::size_t segment, In const& in, Out const& out) {
  using T = typename In::non_const_value_type;
  StencilKernel<Exec, T, Stencil> const kernel(exec, {.n = in.extent(0), .segment = segment}, "tessera::stencil",
                                               stencil);
  kernel(exec, in, out);
  exec.fence("tessera: stencil");
}

}  // namespace tessera::kernels
