/// \file
/// Tiles with a right halo, and the taps, in team scratch: every element is read from memory once for its own tile, and
/// some once more for the halo of the previous tile. Taps that do not fit are taken in several passes. A pass loads the
/// tile shifted by its first tap, with a halo that fits, and adds to the sums of the previous passes.

#include "../problem.hpp"

#include <tessera/collective/team/halo_tile.hpp>
#include <tessera/collective/thread/correlate.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/conv1d.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

namespace {

template <class Exec, class T>
struct ScratchHaloKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  static constexpr int length = kernels::Conv1dTuning<Exec, T>::items;
  static constexpr int pack = collective::pack_width<T>;
  // Scratch is an array of packs, so that it is aligned for them.
  using Scratch = ScratchView<collective::Pack<T, pack>*, Exec>;
  using Sums = ScratchView<Accumulator<T>*, Exec>;

  T const* a;
  T const* k;
  T* out;
  std::size_t n;
  std::size_t taps;
  team::HaloTile<T> shape;

  /// Returns the number of packs for the tile, up to the end of its last run, and for the taps of a pass.
  [[nodiscard]] KOKKOS_FUNCTION static int tile_packs(team::HaloTile<T> const& shape) {
    return (shape.places() + length + pack - 1) / pack;
  }
  [[nodiscard]] KOKKOS_FUNCTION static int tap_packs(team::HaloTile<T> const& shape) {
    return (shape.right + pack) / pack;
  }
  /// Returns the number of sums that are kept for the next pass.
  [[nodiscard]] KOKKOS_FUNCTION static int sum_places(team::HaloTile<T> const& shape, std::size_t taps) {
    return taps <= static_cast<std::size_t>(shape.right) + 1 ? 0 : shape.size + length;
  }
  [[nodiscard]] static std::size_t scratch_bytes(team::HaloTile<T> const& shape, std::size_t taps) {
    return Scratch::shmem_size(tile_packs(shape)) + Scratch::shmem_size(tap_packs(shape)) +
           Sums::shmem_size(sum_places(shape, taps));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const tile_scratch(team.team_scratch(0), tile_packs(shape));
    Scratch const tap_scratch(team.team_scratch(0), tap_packs(shape));
    Sums const waiting(team.team_scratch(0), sum_places(shape, taps));
    T* const factors = reinterpret_cast<T*>(tap_scratch.data());
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * shape.size;
    int const count = thread::clamped_count(n - begin) < shape.size ? thread::clamped_count(n - begin) : shape.size;
    bool const aligned = collective::is_aligned_for_packs<pack>(out + begin);

    auto const at_once = static_cast<std::size_t>(shape.right) + 1;
    std::size_t const met = taps < n - begin ? taps : n - begin;
    for (std::size_t first = 0; first < met; first += at_once) {
      int const pass = static_cast<int>(met - first < at_once ? met - first : at_once);
      bool const is_last = met - first <= at_once;
      int const left = thread::clamped_count(n - begin - first);
      T const* const tile = shape.load(team, a, n, begin + first, T(0), reinterpret_cast<T*>(tile_scratch.data()));
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, pass), [&](int j) { factors[j] = k[first + j]; });
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (count + length - 1) / length), [&](int r) {
        int const offset = r * length;
        Accumulator<T> sums[length] = {};
        if (first > 0) {
          for (int t = 0; t < length; ++t) sums[t] = waiting(offset + t);
        }
        thread::correlate<length, T>(thread::Span<T, true>{tile + offset, shape.size + shape.right - offset},
                                     thread::Span<T, true>{factors, pass}, pass, left - offset, sums);
        if (is_last) {
          thread::store_sums<length>(sums, count - offset, aligned, out + begin + offset);
        } else {
          for (int t = 0; t < length; ++t) waiting(offset + t) = sums[t];
        }
      });
      leave_scratch(team);
    }
  }
};

}  // namespace

struct ScratchHalo {
  static constexpr VariantInfo info{
      .name = "scratch_halo", .level = Level::team, .summary = "tiles with a right halo, and k, in team scratch"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Kernel = ScratchHaloKernel<Exec, T>;

    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)) {
      // A multiple of packs, so that the tiles of later passes have the first tile's alignment.
      constexpr std::size_t most_taps = kernels::Conv1dTuning<Exec, T>::most_taps;
      bool const in_one_pass = taps_of(input.a, input.k) <= most_taps;
      std::size_t const at_once = in_one_pass ? std::max<std::size_t>(1, taps_of(input.a, input.k)) : most_taps;
      shape_.right = static_cast<int>(at_once) - 1;
      shape_.size = kernels::scratch_tile<Exec>(input.parameters.tile, (in_one_pass ? 1 : 2) * sizeof(T),
                                                (2 * at_once + 2 * Kernel::length + 8 * Kernel::pack) * sizeof(T));
    }

    void operator()(Exec const& exec, InputOn<Conv1d, Exec, T> const& input,
                    OutputOn<Conv1d, Exec, T> const& output) const {
      std::size_t const n = input.a.extent(0);
      if (n == 0) return;
      std::size_t const taps = taps_of(input.a, input.k);
      typename Kernel::Policy policy(exec, static_cast<int>(tiles_of(n, shape_.size)), threads_);
      auto const bytes = static_cast<int>(Kernel::scratch_bytes(shape_, taps));
      Kokkos::parallel_for("tessera::conv1d::scratch_halo::sum", with_scratch(policy, bytes),
                           Kernel{input.a.data(), input.k.data(), output.out.data(), n, taps, shape_});
    }

   private:
    int threads_;
    team::HaloTile<T> shape_;
  };
};

VariantRows scratch_halo() { return rows<Conv1d, ScratchHalo>(); }

}  // namespace tessera::conv1d
