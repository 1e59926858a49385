/// \file
/// Every output sums its products from memory. On a host an index stands for a block of outputs, tap by tap, because a
/// compiler makes vectors of neighbours and not of one sum.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

namespace {

template <int Block, class T>
struct DirectKernel {
  T const* a;
  T const* k;
  T* out;
  std::size_t n;
  std::size_t taps;

  KOKKOS_FUNCTION void operator()(std::size_t block) const {
    std::size_t const begin = block * Block;
    std::size_t const left = n - begin;
    Accumulator<T> sums[Block] = {};
    std::size_t const met = taps < left ? taps : left;
    for (std::size_t j = 0; j < met; ++j) {
      // Past the array's end there is nothing.
      int const count = left - j < Block ? static_cast<int>(left - j) : Block;
      T const* const shifted = a + begin + j;
      T const factor = k[j];
      for (int t = 0; t < count; ++t) sums[t] += product(shifted[t], factor);
    }
    int const count = left < Block ? static_cast<int>(left) : Block;
    for (int t = 0; t < count; ++t) out[begin + t] = static_cast<T>(sums[t]);
  }
};

}  // namespace

struct Direct {
  static constexpr VariantInfo info{.name = "direct",
                                    .level = Level::range,
                                    .summary = "every output sums its products, on a host in blocks of outputs"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int block = is_gpu<Exec> ? 1 : 256;

    Plan(Exec const&, InputOn<Conv1d, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Conv1d, Exec, T> const& input,
                    OutputOn<Conv1d, Exec, T> const& output) const {
      std::size_t const n = input.a.extent(0);
      Kokkos::parallel_for(
          "tessera::conv1d::direct::sum",
          Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, (n + block - 1) / block),
          DirectKernel<block, T>{input.a.data(), input.k.data(), output.out.data(), n, taps_of(input)});
    }
  };
};

VariantRows direct() { return rows<Conv1d, Direct>(); }

}  // namespace tessera::conv1d
