/// \file
/// Every thread holds the sums of a run of consecutive outputs in registers, and the input slides by under them.
///
/// A short kernel: a run is one 16-byte access, straight from memory; the elements after it are in the cache, since the
/// next thread reads them as its own. A long one is a matter of arithmetic, so that loads must be few: longer runs,
/// from a tile in team scratch that keeps the lanes out of each other's banks, and results that leave the same way.

#include "../correlate.hpp"
#include "../problem.hpp"
#include "../run_tile.hpp"

#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

namespace {

template <class Exec, class T>
struct ShortKernelBody {
  T const* a;
  T const* k;
  T* out;
  std::size_t n;
  int taps;

  template <int L>
  KOKKOS_FUNCTION void operator()(kernels::Width<L>, std::size_t begin) const {
    Accumulator<T> sums[L] = {};
    int const left = clamped_count(n - begin);
    if (!is_gpu<Exec> && taps + L - 1 <= left) {
      detail::add_in_passes<L>(a + begin, k, taps, sums);
    } else {
      // A host's vectors may lie anywhere.
      correlate<L, T>(Span<T, is_gpu<Exec>>{a + begin, left}, Span<T, false>{k, taps}, taps, left, sums);
    }
    store_sums<L>(sums, L, true, out + begin);
  }
};

template <class Exec, class T>
struct LongKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  // As many as there are registers for: 8 floats, 4 doubles.
  static constexpr int length = is_gpu<Exec> ? 2 * collective::pack_width<T> : run_length<Exec, T>;
  using Tile = RunTile<T, length>;
  static constexpr int pack = Tile::pack;
  using Scratch =
      Kokkos::View<typename Tile::Pack*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  T const* a;
  T const* k;
  T* out;
  std::size_t n;
  std::size_t taps;
  int size;     // outputs of a tile
  int at_once;  // taps of a pass, a multiple of packs

  // The last run may be longer than the tile, and correlate reads up to two runs past the last tap's.
  [[nodiscard]] KOKKOS_FUNCTION static int in_elements(int size, int at_once) { return size + at_once + 3 * length; }
  [[nodiscard]] static std::size_t scratch_bytes(int size, int at_once) {
    return Scratch::shmem_size(Tile::places(in_elements(size, at_once))) + Scratch::shmem_size(Tile::places(size)) +
           Scratch::shmem_size(at_once / pack);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const elements = in_elements(size, at_once);
    Scratch const in_scratch(team.team_scratch(0), Tile::places(elements));
    Scratch const sum_scratch(team.team_scratch(0), Tile::places(size));
    Scratch const tap_scratch(team.team_scratch(0), at_once / pack);
    Tile const in{in_scratch.data(), Tile::plane_for(elements)};
    Tile const results{sum_scratch.data(), Tile::plane_for(size)};
    T* const factors = reinterpret_cast<T*>(tap_scratch.data());
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * size;
    int const count = clamped_count(n - begin) < size ? clamped_count(n - begin) : size;

    std::size_t const met = taps < n - begin ? taps : n - begin;
    for (std::size_t first = 0; first < met; first += at_once) {
      int const pass = clamped_count(met - first) < at_once ? clamped_count(met - first) : at_once;
      int const left = clamped_count(n - begin - first);
      in.load(team, a + begin + first, count + pass - 1, left);
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, pass), [&](int j) { factors[j] = k[first + j]; });
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (count + length - 1) / length), [&](int r) {
        Accumulator<T> sums[length] = {};
        T values[length];
        if (first > 0) {
          results.run(r).template read_whole<length>(0, values);
          for (int t = 0; t < length; ++t) sums[t] = static_cast<Accumulator<T>>(values[t]);
        }
        correlate<length, T>(in.run(r), Span<T, true>{factors, pass}, pass, left - r * length, sums);
        for (int t = 0; t < length; ++t) values[t] = static_cast<T>(sums[t]);
        results.run(r).write(values);
      });
      team.team_barrier();
    }
    results.store(team, out + begin, count);
    team.team_barrier();  // hosts go on with the next tile in the same scratch
  }
};

}  // namespace

struct RegisterWindow {
  static constexpr VariantInfo info{
      .name = "register_window", .level = Level::team, .summary = "runs of sums in registers, the input slides by"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Long = LongKernel<Exec, T>;

    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input)
        : taps_(taps_of(input)), threads_(kernels::team_size(exec, input.parameters.team)) {
      if (taps_ <= most_taps_of_short) return;
      constexpr int pack = collective::pack_width<T>;
      constexpr std::size_t most_taps = (std::size_t{1} << 12) / sizeof(T);
      at_once_ = static_cast<int>((std::min(taps_, most_taps) + pack - 1) / pack * pack);
      // On a GPU a run a lane.
      std::int64_t const chosen = is_gpu<Exec> ? threads_ * Long::length : 4096 / sizeof(T);
      // The tile and its sums; the halo, the taps, and what planes are rounded up by.
      auto const besides = static_cast<std::size_t>(2 * at_once_ + 20 * Long::length);
      size_ = kernels::scratch_tile<Exec>(input.parameters.tile > 0 ? input.parameters.tile : chosen, 2 * sizeof(T),
                                          besides * sizeof(T));
    }

    void operator()(Exec const& exec, InputOn<Conv1d, Exec, T> const& input,
                    OutputOn<Conv1d, Exec, T> const& output) const {
      std::size_t const n = input.a.extent(0);
      T const* const a = input.a.data();
      T const* const k = input.k.data();
      T* const out = output.out.data();
      if (taps_ <= most_taps_of_short) {
        bool const aligned = !is_gpu<Exec> || (collective::is_aligned_for_packs<collective::pack_width<T>>(a) &&
                                               collective::is_aligned_for_packs<collective::pack_width<T>>(out));
        kernels::for_each_pack<run_length<Exec, T>>("tessera::conv1d::register_window::short", exec, n, aligned,
                                                    ShortKernelBody<Exec, T>{a, k, out, n, static_cast<int>(taps_)});
        return;
      }
      typename Long::Policy policy(exec, static_cast<int>(tiles_of(n, size_)), threads_);
      auto const bytes = static_cast<int>(Long::scratch_bytes(size_, at_once_));
      Kokkos::parallel_for("tessera::conv1d::register_window::long", policy.set_scratch_size(0, Kokkos::PerTeam(bytes)),
                           Long{a, k, out, n, taps_, size_, at_once_});
    }

   private:
    static constexpr std::size_t most_taps_of_short = 16;

    std::size_t taps_;
    int threads_;
    int size_ = 0;
    int at_once_ = 0;
  };
};

VariantRows register_window() { return rows<Conv1d, RegisterWindow>(); }

}  // namespace tessera::conv1d
