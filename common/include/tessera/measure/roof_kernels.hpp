#pragma once
/// \file
/// The kernels that measure roofs: a run times them before its first row, and the mini-app roofline shows and verifies
/// them. Copy and triad are from McCalpin's STREAM (1995), the roof from Williams, Waterman and Patterson, Roofline
/// (2009).

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>
#include <tessera/kernels/reduce.hpp>
#include <tessera/kernels/transform.hpp>

namespace tessera::measure {

/// The triad operation on a pair of elements; integers wrap.
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

template <class T>
struct WriteKernel {
  T* out;

  template <int N>
  KOKKOS_FUNCTION void operator()(kernels::Width<N>, std::size_t begin) const {
    collective::Pack<T, N> pack;
    for (int e = 0; e < N; ++e) {
      pack[e] = static_cast<T>(static_cast<collective::Accumulator<T>>((begin + static_cast<std::size_t>(e)) % 256));
    }
    collective::pack_at<N>(out + begin) = pack;
  }
};

/// Enqueues out[i] = i mod 256: only writes.
template <ExecutionSpace Exec, class Out>
void write(Exec const& exec, Out const& out) {
  using T = typename Out::non_const_value_type;
  constexpr int pack = collective::pack_width<T>;
  kernels::for_each_pack<pack>("tessera::roofline::write", exec, out.extent(0),
                               collective::is_aligned_for_packs<pack>(out.data()), WriteKernel<T>{out.data()});
}

/// Reads n elements and writes their sum.
template <ExecutionSpace Exec, class T>
using Read = kernels::SinglePassSum<Exec, T, 1, kernels::Itself<T>>;

/// Chains of multiply-adds: out[i] = f(f(... f(i mod 256))), with f(x) = x * multiplier + addend, `iterations` times. A
/// thread runs enough independent chains in registers to hide the latency of a multiply-add.
///
/// With multiplier and addend 1 a chain counts its iterations: the result is i mod 256 + iterations, exact below 2^24.
/// Both are arguments, so that the compiler cannot know them.
template <ExecutionSpace Exec, class T>
struct ChainKernel {
  using Accumulator = collective::Accumulator<T>;
  static constexpr int registers = 12;
  static constexpr int lanes = collective::vector_bytes / static_cast<int>(sizeof(Accumulator));
  static constexpr int width = registers * lanes;  // chains per thread
  // The processor's widest vectors, by the vector extension of GNU compilers: not all compilers vectorise a loop over
  // chains.
  typedef Accumulator Vector __attribute__((vector_size(collective::vector_bytes)));

  T* out;
  std::int32_t count;  // number of chains
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

/// Enough chains to fill any current machine: the lanes of 264 teams on a GPU with 132 multiprocessors.
inline constexpr std::int32_t most_chains = 1 << 19;
/// Number of iterations that take about a millisecond.
template <ExecutionSpace Exec>
inline constexpr std::int32_t chain_iterations = is_gpu<Exec> ? 1 << 14 : 1 << 9;

/// Enqueues one chain per element of `out`, at most most_chains.
template <ExecutionSpace Exec, class Out>
void chains(Exec const& exec, Out const& out, std::int32_t iterations) {
  using Kernel = ChainKernel<Exec, typename Out::non_const_value_type>;
  auto const blocks = static_cast<std::int32_t>(tiles_of(out.extent(0), Kernel::width));
  Kokkos::parallel_for("tessera::roofline::multiply_add", over<std::int32_t>(exec, blocks),
                       Kernel{out.data(), static_cast<std::int32_t>(out.extent(0)), iterations, 1, 1});
}

/// The matrix unit for factors of a type that collective::MatrixUnit supports.
template <class Factor>
inline constexpr Unit unit_of = Unit::tf32;
template <>
inline constexpr Unit unit_of<Half> = Unit::half;
template <>
inline constexpr Unit unit_of<BFloat16> = Unit::bfloat16;

/// Chains on a matrix unit: out[i] = i mod 256 + iterations, the mean of `chains` chains of c += a b over the unit's
/// depth. A warp runs the chains of the elements of c side by side in its registers.
///
/// If all factors are 1, an element of c grows by the unit's depth per iteration. It starts at depth * (i mod 256) and
/// is exact up to 2^24, which allows most_iterations iterations. The sum of the chains is exact as well, because they
/// are multiples of the depth. The factors are arguments, so that the compiler cannot know them.
template <ExecutionSpace Exec, class Factor>
struct MatrixChainKernel {
  using Unit = collective::MatrixUnit<Factor, collective::matrix_lanes<Exec>>;
  using Lanes = lane::On<Exec, Unit::lanes>;
  using A = typename Unit::A;
  using B = typename Unit::B;
  using C = typename Unit::C;
  template <class V>
  using Value = typename Lanes::template Value<V>;
  static constexpr int chains = 8;
  static constexpr int width = Unit::rows * Unit::cols;  // elements per warp
  static constexpr int threads = is_gpu<Exec> ? 4 : 1;   // warps per team (on a host: 1)
  // Eight teams per multiprocessor: half of its resident warps.
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<threads * Unit::lanes, 8>>;
  using Member = typename Policy::member_type;
  static constexpr std::int32_t most_iterations = (1 << 24) / Unit::depth - 256;

  float* out;
  std::int32_t count;
  std::int32_t iterations;
  A a;
  B b;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    auto const of_a = lanes.template fill<A>(a);
    auto const of_b = lanes.template fill<B>(b);
    std::int32_t const first = (team.league_rank() * threads + team.team_rank()) * width;
    Value<C> sums[chains];
    TESSERA_UNROLL
    for (auto& own : sums) {
      own = lanes.template fill<C>(C{});
      lanes.each(
          [&](int lane, C& c) {
            for (int e = 0; e < 4; ++e) c.at[e] = static_cast<float>(Unit::depth * (element(first, lane, e) % 256));
          },
          own);
    }
    for (std::int32_t k = 0; k < iterations; ++k) {
      TESSERA_UNROLL
      for (auto& own : sums) collective::multiply_add(Unit{}, lanes, own, of_a, of_b);
    }
    auto total = lanes.template fill<C>(C{});
    TESSERA_UNROLL
    for (auto& own : sums) {
      lanes.each(
          [](int, C& all, C const& c) {
            for (int e = 0; e < 4; ++e) all.at[e] += c.at[e];
          },
          total, own);
    }
    lanes.each(
        [&](int lane, C const& all) {
          for (int e = 0; e < 4; ++e) {
            std::int32_t const i = element(first, lane, e);
            if (i < count) out[i] = all.at[e] * (1.0F / (chains * Unit::depth));
          }
        },
        total);
  }

 private:
  [[nodiscard]] static KOKKOS_FUNCTION std::int32_t element(std::int32_t first, int lane, int e) {
    return first + Unit::row_of_c(lane, e) * Unit::cols + Unit::col_of_c(lane, e);
  }
};

/// Operations per element of `out` and iteration.
template <ExecutionSpace Exec, class Factor>
inline constexpr double matrix_chain_operations =
    2.0 * MatrixChainKernel<Exec, Factor>::chains * MatrixChainKernel<Exec, Factor>::Unit::depth;
/// Number of iterations that take about a millisecond.
inline constexpr std::int32_t matrix_chain_iterations = 1 << 12;

/// Enqueues chains of matrix products for the elements of `out`, fewer than 2^31. On a host the matrix unit is emulated
/// by a loop.
template <class Factor, ExecutionSpace Exec, class Out>
void matrix_chains(Exec const& exec, Out const& out, std::int32_t iterations) {
  using Kernel = MatrixChainKernel<Exec, Factor>;
  static std::string const label = "tessera::roofline::matrix_" + std::string(name_of(unit_of<Factor>));
  Kernel kernel{out.data(), static_cast<std::int32_t>(out.extent(0)), iterations, {}, {}};
  auto const set = [](auto& word) {
    if constexpr (std::same_as<Factor, collective::Tf32>) {
      word = 1;
    } else {
      word = Kernel::Unit::word(Factor(1), Factor(1));
    }
  };
  for (auto& word : kernel.a.at) set(word);
  for (auto& word : kernel.b.at) set(word);
  auto const teams = static_cast<int>(tiles_of(out.extent(0), Kernel::width * Kernel::threads));
  if (teams == 0) return;
  Kokkos::parallel_for(
      label, typename Kernel::Policy(exec, teams, Kernel::threads, lane::vector_length<Exec>(Kernel::Unit::lanes)),
      kernel);
}

/// Enqueues a launch that writes a one: the smallest kernel with a visible effect.
template <ExecutionSpace Exec, class Out>
void mark(Exec const& exec, Out const& out) {
  using T = typename Out::non_const_value_type;
  Kokkos::parallel_for("tessera::roofline::launch", over<int>(exec, 1), KOKKOS_LAMBDA(int) { out() = T(1); });
}

}  // namespace tessera::measure
