/// \file
/// Tiles with a left halo in team scratch: every element is read from memory once for its own tile, and some once more
/// for the halo of the next tile. A window whose halo does not fit is folded in several passes, the oldest elements
/// first. A pass loads the tile shifted back, with a halo that fits, and joins its folds with the previous folds.

#include "../problem.hpp"

#include <tessera/collective/team/halo_tile.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/pooling.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::pooling {

namespace {

template <class Exec, class T, class Op>
struct ScratchHaloKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  static constexpr int length = kernels::WindowTuning<Exec, T>::items;
  static constexpr int pack = collective::pack_width<T>;
  // Scratch is an array of packs, so that it is aligned for them.
  using Scratch = ScratchView<collective::Pack<T, pack>*, Exec>;

  Op op;
  thread::FinishWindow<T> finish;
  T const* a;
  T* out;
  std::size_t n;
  team::HaloTile<T> shape;

  // The last run may reach past the tile.
  [[nodiscard]] KOKKOS_FUNCTION static int tile_packs(team::HaloTile<T> const& shape) {
    return (shape.places() + length + pack - 1) / pack;
  }
  [[nodiscard]] KOKKOS_FUNCTION static int folded_packs(team::HaloTile<T> const& shape, std::size_t window) {
    return window <= static_cast<std::size_t>(shape.left) + 1 ? 0 : (shape.size + length + pack - 1) / pack;
  }
  [[nodiscard]] static std::size_t scratch_bytes(team::HaloTile<T> const& shape, std::size_t window) {
    return Scratch::shmem_size(tile_packs(shape)) + Scratch::shmem_size(folded_packs(shape, window));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), tile_packs(shape));
    Scratch const folded_scratch(team.team_scratch(0), folded_packs(shape, finish.window));
    T* const folded = reinterpret_cast<T*>(folded_scratch.data());
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * shape.size;
    int const count = n - begin < static_cast<std::size_t>(shape.size) ? static_cast<int>(n - begin) : shape.size;
    bool const aligned = collective::is_aligned_for_packs<pack>(out + begin);

    // A pass takes the window's elements from `newest` backwards; the oldest elements inside the array come first.
    auto const taps = static_cast<std::size_t>(shape.left) + 1;
    std::size_t const reach = begin + static_cast<std::size_t>(count);
    std::size_t const oldest = (finish.window < reach ? finish.window : reach) - 1;
    bool is_first = true;
    for (std::size_t newest = oldest / taps * taps;; newest -= taps) {
      std::size_t const window = finish.window - newest < taps ? finish.window - newest : taps;
      // The shifted tile may begin before the array.
      T const* const tile = shape.load(team, a, n, begin - newest, op.identity(), reinterpret_cast<T*>(scratch.data()));
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (count + length - 1) / length), [&](int r) {
        int const offset = r * length;
        T run[length];
        thread::window_run<length>(op, tile + offset, window, static_cast<std::size_t>(shape.origin() + offset), run);
        if (!is_first) {
          for (int t = 0; t < length; ++t) run[t] = op(folded[offset + t], run[t]);
        }
        if (newest > 0) {
          for (int t = 0; t < length; ++t) folded[offset + t] = run[t];
          return;
        }
        finish(thread::RunOf<length>{}, begin + offset, run, length, a, count - offset);
        if (offset + length <= count && (aligned || length > pack)) {
          thread::write_run<length>(run, out + begin + offset);
        } else {
          for (int t = 0; t < length; ++t) {
            if (offset + t < count) out[begin + offset + t] = run[t];
          }
        }
      });
      leave_scratch(team);
      if (newest == 0) break;
      is_first = false;
    }
  }
};

}  // namespace

struct ScratchHalo {
  static constexpr VariantInfo info{
      .name = "scratch_halo", .level = Level::team, .summary = "tiles with a left halo in team scratch"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Pooling, Exec, T> const& input)
        : finish_(finish_of<T>(input.a.extent(0), input.parameters)),
          threads_(kernels::team_size(exec, input.parameters.team)) {
      constexpr int pack = collective::pack_width<T>;
      constexpr std::size_t most_halo = (std::size_t{1} << 13) / sizeof(T);
      bool const in_one_pass = finish_.window <= most_halo;
      // All passes but the last begin a multiple of `taps` before the tile: aligned if `taps` is a multiple of a pack.
      std::size_t const taps = in_one_pass ? finish_.window : most_halo;
      shape_.left = static_cast<int>(taps) - 1;
      shape_.size =
          kernels::scratch_tile<Exec>(input.parameters.tile, (in_one_pass ? 1 : 2) * sizeof(T),
                                      (taps + 2 * kernels::WindowTuning<Exec, T>::items + 4 * pack) * sizeof(T));
    }

    void operator()(Exec const& exec, InputOn<Pooling, Exec, T> const& input,
                    OutputOn<Pooling, Exec, T> const& output) const {
      std::size_t const n = input.a.extent(0);
      if (n == 0) return;
      with_operator<T>(input.parameters.op, [&]<class Op>(Op const& op) {
        using Kernel = ScratchHaloKernel<Exec, T, Op>;
        auto const bytes = static_cast<int>(Kernel::scratch_bytes(shape_, finish_.window));
        typename Kernel::Policy policy(exec, static_cast<int>(tiles_of(n, shape_.size)), threads_);
        Kokkos::parallel_for("tessera::pooling::scratch_halo::fold", with_scratch(policy, bytes),
                             Kernel{op, finish_, input.a.data(), output.out.data(), n, shape_});
      });
    }

   private:
    thread::FinishWindow<T> finish_;
    int threads_;
    team::HaloTile<T> shape_;
  };
};

VariantRows scratch_halo() { return rows<Pooling, ScratchHalo>(); }

}  // namespace tessera::pooling
