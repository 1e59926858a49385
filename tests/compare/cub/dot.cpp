/// \file
/// cub::DeviceReduce on products.

#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>
#include <concepts>
#include <cub/device/device_reduce.cuh>

#include "../../../apps/dot/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using dot::Dot;

template <class T>
struct Product {
  template <class Pair>
  KOKKOS_FUNCTION collective::Accumulator<T> operator()(Pair const& pair) const {
    return collective::product(static_cast<T>(thrust::get<0>(pair)), static_cast<T>(thrust::get<1>(pair)));
  }
};

struct Cub {
  static constexpr VariantInfo info{
      .name = "cub", .level = Level::library, .summary = "cub::DeviceReduce::Sum of products"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input) : total_("tessera::compare: total") {
      workspace_ =
          workspace_of([&](void* memory, std::size_t& bytes) { return sum(memory, bytes, input, nullptr, exec); });
    }

    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) {
      std::size_t bytes = workspace_.extent(0);
      check(sum(workspace_.data(), bytes, input, total_.of(output.out).data(), exec));
    }
    /// Sums of 16-bit floats are of type float.
    void complete(Exec const& exec, InputOn<Dot, Exec, T> const&, OutputOn<Dot, Exec, T> const& output) const {
      total_.store(exec, output.out);
    }

   private:
    static cudaError_t sum(void* memory, std::size_t& bytes, InputOn<Dot, Exec, T> const& input,
                           collective::Accumulator<T>* out, Exec const& exec) {
      auto const pairs = thrust::make_zip_iterator(thrust::make_tuple(input.a.data(), input.b.data()));
      return with_count(input.a.extent(0), [&](auto n) {
        return cub::DeviceReduce::Sum(memory, bytes, thrust::make_transform_iterator(pairs, Product<T>{}), out, n,
                                      exec.cuda_stream());
      });
    }

    dot::Total<Exec, T> total_;
    Workspace workspace_;
  };
};

}  // namespace

Peer cub_dot() { return {"dot", {rows<Dot, Cub>()}}; }

}  // namespace tessera::compare
