#pragma once
/// \file
/// The kernels that roofs are measured with: what a run times before its first row, and what the mini-app roofline
/// shows and verifies. Copy and triad are those of McCalpin's STREAM (1995); the roof is that of Williams, Waterman and
/// Patterson, Roofline (2009).

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/reduce.hpp>
#include <tessera/kernels/transform.hpp>

namespace tessera::measure {

/// What triad does to a pair of elements; integers wrap.
template <class T>
struct Triad {
  T s;
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T const& a, T const& b) const {
    return static_cast<T>(static_cast<collective::Accumulator<T>>(a) + collective::product(s, b));
  }
};

template <class T>
struct Same {
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T const& a) const { return a; }
};

/// Enqueues out[i] = a[i].
template <ExecutionSpace Exec, class A, class Out>
void copy(Exec const& exec, A const& a, Out const& out) {
  using T = typename Out::non_const_value_type;
  kernels::Transform<Exec, T, Same<T>>({}, "tessera::roofline::copy")(exec, a, out);
}

/// Enqueues out[i] = a[i] + s * b[i].
template <ExecutionSpace Exec, class A, class B, class Out>
void triad(Exec const& exec, A const& a, B const& b, Out const& out, typename Out::non_const_value_type s) {
  using T = typename Out::non_const_value_type;
  kernels::Transform<Exec, T, Triad<T>>({s}, "tessera::roofline::triad")(exec, a, b, out);
}

/// Reads n elements and leaves their sum.
template <ExecutionSpace Exec, class T>
using Read = kernels::SinglePassSum<Exec, T, 1, kernels::Itself<T>>;

/// Chains of multiply-adds: out[i] = f(f(... f(i mod 256))), with f(x) = x * multiplier + addend, `iterations` times.
/// A thread runs enough independent chains in registers to hide a multiply-add's latency.
///
/// With both factors 1 a chain counts its own iterations: the result is i mod 256 + iterations, exact as long as it
/// is below 2^24. The factors are arguments, so that no compiler knows.
template <ExecutionSpace Exec, class T>
struct ChainKernel {
  using Accumulator = collective::Accumulator<T>;
  static constexpr int registers = 12;
  static constexpr int lanes = collective::vector_bytes / static_cast<int>(sizeof(Accumulator));
  static constexpr int width = registers * lanes;  // chains of a thread
  // The processor's widest vectors, by the extension of GNU compilers: not all of them make vectors of a loop over
  // chains.
  typedef Accumulator Vector __attribute__((vector_size(collective::vector_bytes)));

  T* out;
  std::int32_t count;  // of chains
  std::int32_t iterations;
  Accumulator multiplier;
  Accumulator addend;

  void operator()(std::int32_t block) const {
    Vector x[registers];
    for (int i = 0; i < width; ++i) x[i / lanes][i % lanes] = static_cast<Accumulator>((block * width + i) % 256);
    for (std::int32_t k = 0; k < iterations; ++k) {
      for (int r = 0; r < registers; ++r) x[r] = x[r] * multiplier + addend;
    }
    for (int i = 0; i < width && block * width + i < count; ++i) {
      out[block * width + i] = static_cast<T>(x[i / lanes][i % lanes]);
    }
  }
};

template <ExecutionSpace Exec, class T>
  requires is_gpu<Exec>
struct ChainKernel<Exec, T> {
  using Accumulator = collective::Accumulator<T>;
  static constexpr int width = 8;

  T* out;
  std::int32_t count;
  std::int32_t iterations;
  Accumulator multiplier;
  Accumulator addend;

  KOKKOS_FUNCTION void operator()(std::int32_t block) const {
    Accumulator x[width];
    for (int e = 0; e < width; ++e) x[e] = static_cast<Accumulator>((block * width + e) % 256);
    for (std::int32_t k = 0; k < iterations; ++k) {
      for (int e = 0; e < width; ++e) x[e] = x[e] * multiplier + addend;
    }
    for (int e = 0; e < width; ++e) {
      if (block * width + e < count) out[block * width + e] = static_cast<T>(x[e]);
    }
  }
};

/// Chains that fill any machine of today: 264 teams' worth of lanes on a GPU of 132 multiprocessors.
inline constexpr std::int32_t most_chains = 1 << 19;
/// Iterations that take about a millisecond.
template <ExecutionSpace Exec>
inline constexpr std::int32_t chain_iterations = is_gpu<Exec> ? 1 << 14 : 1 << 9;

/// Enqueues a chain for each element of `out`, at most most_chains.
template <ExecutionSpace Exec, class Out>
void chains(Exec const& exec, Out const& out, std::int32_t iterations) {
  using Kernel = ChainKernel<Exec, typename Out::non_const_value_type>;
  auto const blocks = static_cast<std::int32_t>(tiles_of(out.extent(0), Kernel::width));
  Kokkos::parallel_for("tessera::roofline::multiply_add",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>>(exec, 0, blocks),
                       Kernel{out.data(), static_cast<std::int32_t>(out.extent(0)), iterations, 1, 1});
}

/// Enqueues a launch that writes a one: the smallest kernel that leaves a trace.
template <ExecutionSpace Exec, class Out>
void mark(Exec const& exec, Out const& out) {
  using T = typename Out::non_const_value_type;
  Kokkos::parallel_for(
      "tessera::roofline::launch", Kokkos::RangePolicy<Exec, Kokkos::IndexType<int>>(exec, 0, 1),
      KOKKOS_LAMBDA(int) { out() = T(1); });
}

}  // namespace tessera::measure
