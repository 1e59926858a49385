#pragma once
/// \file
/// Fills an array with random numbers of collective/random.hpp, in one launch: element i is a function of (seed,
/// stream, first + i). Each index handles one or several counters of four elements each, stored with 16-byte accesses
/// if the array is aligned to them. Writes the array once and reads nothing.
///
/// Source: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC'11).
///
/// Example, first = 2, n = 5, 4 elements per counter: counters 0 (elements 2 and 3) and 1 (4, 5 and 6). With one
/// counter per index these are two indices.
///
/// Use:  fill_random(exec, out, 42);  fill_random(exec, out, 42, collective::Normal<float>{});
/// or, enqueued many times:  FillRandom<Exec, float, collective::Uniform<float>> fill(42);  fill(exec, out);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tessera/collective/pack.hpp>
#include <tessera/collective/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Elements per store, and counters per index, of FillRandom.
template <ExecutionSpace Exec, class T>
struct RandomTuning {
  /// Elements: 16 bytes, the widest access. At most 4, the elements of a counter.
  static constexpr int pack = collective::pack_width<T>;
  /// Counters of an index. On a GPU, starting a thread and computing its address and the keys of all rounds costs as
  /// much as the words of a counter.
  static constexpr int items = is_gpu<Exec> ? 4 : 1;
  /// Distance of these counters. On a GPU the lanes of a warp have neighbouring counters, so that stores are coalesced.
  static constexpr int apart = is_gpu<Exec> ? 32 : 1;
};

namespace detail {

template <class T, class Distribution, class Generator, class Tuning>
struct FillCounters {
  static constexpr int pack = Tuning::pack;
  static constexpr std::size_t items = Tuning::items;
  static constexpr std::size_t apart = Tuning::apart;

  T* out;
  std::size_t n;
  std::uint64_t first;
  collective::RandomWords<Generator> words;
  Distribution distribution;
  bool packs;  // whether elements of whole counters are aligned to packs

  KOKKOS_FUNCTION void operator()(std::size_t index) const {
    std::uint64_t const counter = first / 4 + (index / apart * items * apart + index % apart);
    // Wraps if the counter's elements begin before `first`; so do sums with it.
    std::size_t const begin = static_cast<std::size_t>(4 * counter - first);
    if (packs && begin < n && n - begin >= 4 * ((items - 1) * apart + 1)) {
      TESSERA_UNROLL
      for (std::size_t item = 0; item < items; ++item) {
        auto const four = distribution.four(words, counter + item * apart);
        TESSERA_UNROLL
        for (int p = 0; p < 4; p += pack) {
          collective::Pack<T, pack> some;
          for (int e = 0; e < pack; ++e) some[e] = four[p + e];
          collective::pack_at<pack>(out + begin + 4 * item * apart + p) = some;
        }
      }
    } else {
      for (std::size_t item = 0; item < items; ++item) {
        auto const four = distribution.four(words, counter + item * apart);
        for (std::size_t e = 0; e < 4; ++e) {
          std::size_t const i = begin + 4 * item * apart + e;
          if (i < n) out[i] = four[e];
        }
      }
    }
  }
};

}  // namespace detail

/// out[i] = element first + i of a stream, for the elements of a distribution of collective/random.hpp in T: Bits and
/// Integers (int32), Uniform, PositiveUniform, Normal (float, double). `Generator` is Philox4x32 or Threefry4x64.
///
/// Calls share no memory and may run concurrently. Different (seed, stream) are independent.
template <ExecutionSpace Exec, class T, class Distribution, class Generator = collective::Philox4x32,
          class Tuning = RandomTuning<Exec, T>>
class FillRandom {
 public:
  /// \param first index of the first element, for a rank or an array that continues another
  /// \param label kernel name that Kokkos Tools reports
  explicit FillRandom(std::uint64_t seed, std::uint32_t stream = 0, Distribution const& distribution = {},
                      std::uint64_t first = 0, std::string label = "tessera::random")
      : words_(seed, stream), distribution_(distribution), first_(first), label_(std::move(label)) {}

  /// Enqueues the kernel on `out` [n], which must be contiguous. Throws std::invalid_argument if it is strided.
  template <Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, Out const& out) const {
    constexpr int pack = Tuning::pack;
    std::size_t const n = out.extent(0);
    T* const to = contiguous(out, n);
    if (n == 0) return;
    std::size_t const head = (4 - first_ % 4) % 4;  // elements before the first whole counter
    bool const packs = n > head && collective::is_aligned_for_packs<pack>(to + head);
    auto const counters = static_cast<std::size_t>((first_ + n - 1) / 4 - first_ / 4 + 1);
    std::size_t const indices = tiles_of(counters, std::size_t{Tuning::items} * Tuning::apart) * Tuning::apart;
    Kokkos::parallel_for(
        label_, over(exec, indices),
        detail::FillCounters<T, Distribution, Generator, Tuning>{to, n, first_, words_, distribution_, packs});
  }

 private:
  collective::RandomWords<Generator> words_;
  Distribution distribution_;
  std::uint64_t first_;
  std::string label_;
};

/// out[i] = element i of stream 0. Convenience for a single call: enqueues and waits.
template <ExecutionSpace Exec, class Out, class Distribution>
void fill_random(Exec const& exec, Out const& out, std::uint64_t seed, Distribution const& distribution) {
  FillRandom<Exec, typename Out::non_const_value_type, Distribution> const fill(seed, 0, distribution);
  fill(exec, out);
  exec.fence("tessera: fill_random");
}

/// out[i] = element i of stream 0, in [0, 1).
template <ExecutionSpace Exec, class Out>
void fill_random(Exec const& exec, Out const& out, std::uint64_t seed) {
  fill_random(exec, out, seed, collective::Uniform<typename Out::non_const_value_type>{});
}

}  // namespace tessera::kernels
