#pragma once
/// \file
/// Fills an array with random numbers of collective/random.hpp, in one launch: element i is a function of (seed,
/// stream, first + i). Each index handles one counter: four elements, stored with 16-byte accesses if the array is
/// aligned to them. Writes the array once and reads nothing.
///
/// Source: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC'11).
///
/// Example, first = 2, n = 5, 4 elements per counter: counters 0 (elements 2 and 3) and 1 (4, 5 and 6), two indices.
///
/// Use:  fill_random(exec, out, 42);  fill_random(exec, out, 42, collective::Normal<float>{});
/// or, enqueued many times:  FillRandom<Exec, float, collective::Uniform<float>> fill(42);  fill(exec, out);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <tessera/collective/pack.hpp>
#include <tessera/collective/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Elements per store of FillRandom.
template <ExecutionSpace Exec, class T>
struct RandomTuning {
  /// Elements: 16 bytes, the widest access. At most 4, the elements of a counter.
  static constexpr int pack = collective::pack_width<T>;
};

namespace detail {

template <class T, class Distribution, class Generator, int pack>
struct FillCounter {
  T* out;
  std::size_t n;
  std::uint64_t first;
  collective::RandomWords<Generator> words;
  Distribution distribution;
  bool packs;  // whether elements of whole counters are aligned to packs

  KOKKOS_FUNCTION void operator()(std::size_t index) const {
    std::uint64_t const counter = first / 4 + index;
    auto const four = distribution.four(words, counter);
    // Wraps if the counter's elements begin before `first`; so do sums with it.
    std::size_t const begin = static_cast<std::size_t>(4 * counter - first);
    if (packs && begin < n && n - begin >= 4) {
      for (int p = 0; p < 4; p += pack) {
        collective::Pack<T, pack> some;
        for (int e = 0; e < pack; ++e) some[e] = four[p + e];
        collective::pack_at<pack>(out + begin + p) = some;
      }
    } else {
      for (int e = 0; e < 4; ++e) {
        if (begin + e < n) out[begin + e] = four[e];
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
    Kokkos::parallel_for(
        label_, over(exec, counters),
        detail::FillCounter<T, Distribution, Generator, pack>{to, n, first_, words_, distribution_, packs});
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
