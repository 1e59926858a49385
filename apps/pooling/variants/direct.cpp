/// \file
/// Every output folds its window from memory. On a host an index stands for a block of outputs, tap by tap, because a
/// compiler makes vectors of neighbours and not of one sum.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::pooling {

namespace {

template <int Block, class T, class Op>
struct DirectKernel {
  Op op;
  thread::FinishWindow<T> finish;
  T const* a;
  T* out;
  std::size_t n;

  KOKKOS_FUNCTION void operator()(std::size_t block) const {
    std::size_t const begin = block * Block;
    int const count = n - begin < Block ? static_cast<int>(n - begin) : Block;
    T folded[Block];
    for (int t = 0; t < Block; ++t) folded[t] = op.identity();
    std::size_t const reach = begin + static_cast<std::size_t>(count);
    // The oldest element first.
    for (std::size_t tap = finish.window < reach ? finish.window : reach; tap-- > 0;) {
      int const first = tap > begin ? static_cast<int>(tap - begin) : 0;  // the array's begin
      T const* const shifted = a + (begin + first - tap);
      for (int t = first; t < count; ++t) folded[t] = op(folded[t], shifted[t - first]);
    }
    finish(begin, folded, count);
    for (int t = 0; t < count; ++t) out[begin + t] = folded[t];
  }
};

}  // namespace

struct Direct {
  static constexpr VariantInfo info{.name = "direct",
                                    .level = Level::range,
                                    .summary = "every output folds its window, on a host in blocks of outputs"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int block = is_gpu<Exec> ? 1 : 256;

    Plan(Exec const&, InputOn<Pooling, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Pooling, Exec, T> const& input,
                    OutputOn<Pooling, Exec, T> const& output) const {
      std::size_t const n = input.a.extent(0);
      with_operator<T>(input.parameters.op, [&]<class Op>(Op const& op) {
        Kokkos::parallel_for(
            "tessera::pooling::direct::fold",
            Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, (n + block - 1) / block),
            DirectKernel<block, T, Op>{op, finish_of<T>(input), input.a.data(), output.out.data(), n});
      });
    }
  };
};

VariantRows direct() { return rows<Pooling, Direct>(); }

}  // namespace tessera::pooling
