#pragma once
/// \file
/// Correlation with a short kernel: out[i] = a[i] * k[0] + a[i + 1] * k[1] + ..., for terms inside the array. Each
/// thread keeps the sums of a run of consecutive outputs in registers and streams through the input that they need. One
/// launch.
///
/// - Few taps: a run is one 16-byte access, read directly from memory. The elements after it are in the cache, because
///   the next thread reads them as its own. Traffic: 2n elements.
/// - Many taps: arithmetic limits the speed, so loads must be few. Runs are longer and are read from a tile in team
///   scratch, laid out without bank conflicts; results leave the same way. A run of L outputs does L * L
///   multiplications for 2L loaded elements. Traffic: 2n elements and the halos. Taps that do not fit into scratch
///   together are processed in several passes; the sums wait in scratch.
///
/// All sums are in the order of the taps. Terms past the end of the array are omitted, not multiplied by zero.
///
/// Example, k = 4 5 6, a = 1 2 3: 1 * 4 + 2 * 5 + 3 * 6 = 32, then 2 * 4 + 3 * 5 = 23, then 3 * 4 = 12.
///
/// Use:  conv1d(exec, a, k, out);
/// or, enqueued many times:  RegisterWindow<Exec, float> conv(exec, n, taps);  conv(exec, a, k, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/run_tile.hpp>
#include <tessera/collective/thread/correlate.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Outputs per thread and per team of RegisterWindow.
template <ExecutionSpace Exec, class T>
struct Conv1dTuning {
  static constexpr std::size_t few_taps = 16;  ///< up to this number of taps no scratch is used
  /// Outputs per thread: one 16-byte access on a GPU; several vector registers on a host.
  static constexpr int items = (is_gpu<Exec> ? 1 : 16) * collective::pack_width<T>;
  /// Whether a run is read and written with one aligned access. Vector accesses of a host need no alignment.
  static constexpr bool aligned = is_gpu<Exec>;
  /// Outputs of a thread that reads scratch, limited by registers: 8 floats or 4 doubles on a GPU.
  static constexpr int scratch_items = is_gpu<Exec> ? 2 * collective::pack_width<T> : items;
  /// Taps per pass: 4 KiB.
  static constexpr std::size_t most_taps = (std::size_t{1} << 12) / sizeof(T);
  /// Outputs of a tile in scratch: on a GPU one run per thread, on a host 4 KiB.
  [[nodiscard]] static constexpr int tile(int threads) {
    return is_gpu<Exec> ? threads * scratch_items : static_cast<int>(4096 / sizeof(T));
  }
};

namespace detail {

template <class T, class Tuning>
struct ShortCorrelationBody {
  T const* a;
  T const* k;
  T* out;
  std::size_t n;
  int taps;

  template <int L>
  KOKKOS_FUNCTION void operator()(Width<L>, std::size_t begin) const {
    collective::Accumulator<T> sums[L] = {};
    int const left = thread::clamped_count(n - begin);
    if (!Tuning::aligned && taps + L - 1 <= left) {
      thread::detail::add_in_passes<L>(a + begin, k, taps, sums);
    } else {
      thread::correlate<L, T>(thread::Span<T, Tuning::aligned>{a + begin, left}, thread::Span<T, false>{k, taps}, taps,
                              left, sums);
    }
    thread::store_sums<L>(sums, L, true, out + begin);
  }
};

template <class Exec, class T, class Tuning>
struct LongCorrelationKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  static constexpr int length = Tuning::scratch_items;
  using Tile = team::RunTile<T, length>;
  static constexpr int pack = Tile::pack;
  using Scratch = ScratchView<typename Tile::Pack*, Exec>;

  T const* a;
  T const* k;
  T* out;
  std::size_t n;
  std::size_t taps;
  int size;     // outputs of a tile
  int at_once;  // taps per pass, a multiple of the pack

  // The last run may reach past the tile, and correlate() reads up to two runs further than the last tap needs.
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
    int const count = thread::clamped_count(n - begin) < size ? thread::clamped_count(n - begin) : size;

    std::size_t const met = taps < n - begin ? taps : n - begin;
    for (std::size_t first = 0; first < met; first += at_once) {
      int const pass = thread::clamped_count(met - first) < at_once ? thread::clamped_count(met - first) : at_once;
      int const left = thread::clamped_count(n - begin - first);
      in.load(team, a + begin + first, count + pass - 1, left);
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, pass), [&](int j) { factors[j] = k[first + j]; });
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (count + length - 1) / length), [&](int r) {
        collective::Accumulator<T> sums[length] = {};
        T values[length];
        if (first > 0) {
          results.run(r).template read_whole<length>(0, values);
          for (int t = 0; t < length; ++t) sums[t] = static_cast<collective::Accumulator<T>>(values[t]);
        }
        thread::correlate<length, T>(in.run(r), thread::Span<T, true>{factors, pass}, pass, left - r * length, sums);
        for (int t = 0; t < length; ++t) values[t] = static_cast<T>(sums[t]);
        results.run(r).write(values);
      });
      team.team_barrier();
    }
    results.store(team, out + begin, count);
    leave_scratch(team);
  }
};

}  // namespace detail

/// out[i] = sum over j < taps of a[i + j] * k[j], for the terms with i + j < n.
///
/// Construct it once: chooses tiles, allocates nothing. Throws Skip if the space cannot provide the threads or the
/// scratch. A call only enqueues; calls on one object may run concurrently. On a GPU with few taps, arrays that are not
/// aligned to 16 bytes are accessed element by element.
template <ExecutionSpace Exec, class T, class Tuning = Conv1dTuning<Exec, T>>
class RegisterWindow {
  using Long = detail::LongCorrelationKernel<Exec, T, Tuning>;
  static constexpr int pack = collective::pack_width<T>;

 public:
  /// \param n elements of a and out
  /// \param taps elements of k; may be more than n
  /// \param tile outputs of a tile in scratch; 0: choose
  /// \param team threads per team; 0: choose
  /// \param label kernel name that Kokkos Tools reports
  RegisterWindow(Exec const& exec, std::size_t n, std::size_t taps, std::int64_t tile = 0, std::int64_t team = 0,
                 std::string const& label = "tessera::conv1d")
      : n_(n), given_taps_(taps), taps_(std::min(n, taps)), threads_(team_size(exec, team)) {
    label_ = label + (is_short() ? "::short" : "::long");
    if (is_short()) return;
    at_once_ = static_cast<int>((std::min(taps_, Tuning::most_taps) + pack - 1) / pack * pack);
    // Scratch besides the tile and its sums: the halo, the taps, and the padding that rounds the planes up.
    auto const besides = static_cast<std::size_t>(2 * at_once_ + 20 * Long::length);
    size_ = scratch_tile<Exec>(tile > 0 ? tile : Tuning::tile(threads_), 2 * sizeof(T), besides * sizeof(T));
  }

  /// Enqueues. `a` [n], `k` [taps], `out` [n] must be contiguous; `out` must not overlap the others. Throws
  /// std::invalid_argument for other extents or strides.
  template <Readable<Exec, T, 1> A, Readable<Exec, T, 1> K, Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, A const& a, K const& k, Out const& out) const {
    require_apart(out, a, k);
    enqueue(exec, contiguous(a, n_), contiguous(k, given_taps_), contiguous(out, n_));
  }

 private:
  [[nodiscard]] bool is_short() const { return taps_ <= Tuning::few_taps; }

  void enqueue(Exec const& exec, T const* a, T const* k, T* out) const {
    if (is_short()) {
      bool const in_packs = !Tuning::aligned || collective::is_aligned_for_packs<pack>(a, out);
      for_each_pack<Tuning::items>(label_, exec, n_, in_packs,
                                   detail::ShortCorrelationBody<T, Tuning>{a, k, out, n_, static_cast<int>(taps_)});
      return;
    }
    typename Long::Policy policy(exec, league_of(tiles_of(n_, static_cast<std::size_t>(size_))), threads_);
    Kokkos::parallel_for(label_, with_scratch(policy, Long::scratch_bytes(size_, at_once_)),
                         Long{a, k, out, n_, taps_, size_, at_once_});
  }

  std::string label_;
  std::size_t n_;
  std::size_t given_taps_;
  std::size_t taps_;  // without taps that never meet an element
  int threads_;
  int size_ = 0;
  int at_once_ = 0;
};

/// out[i] = a[i] * k[0] + a[i + 1] * k[1] + ..., for terms inside the array. `a` and `out` [n], `k` of any length; all
/// contiguous; `out` must not overlap the others. Integers wrap. Convenience for a single call: enqueues and waits.
template <ExecutionSpace Exec, class A, class K, class Out>
void conv1d(Exec const& exec, A const& a, K const& k, Out const& out) {
  using T = typename A::non_const_value_type;
  RegisterWindow<Exec, T> const kernel(exec, a.extent(0), k.extent(0));
  kernel(exec, a, k, out);
  exec.fence("tessera: conv1d");
}

}  // namespace tessera::kernels
