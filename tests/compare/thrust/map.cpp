/// \file
/// thrust::transform, which returns before the work is finished.

#include <thrust/device_ptr.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/transform.h>
#include <concepts>

#include "../../../apps/map/problem.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using map::Map;

struct Thrust {
  static constexpr VariantInfo info{.name = "thrust", .level = Level::library, .summary = "thrust::transform"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& input, OutputOn<Map, Exec, T> const& output) const {
      auto const policy = thrust::cuda::par_nosync.on(exec.cuda_stream());
      std::size_t const n = input.a.extent(0);
      thrust::transform(policy, thrust::device_pointer_cast(input.a.data()),
                        thrust::device_pointer_cast(input.a.data()) + n, thrust::device_pointer_cast(output.out.data()),
                        map::AddConstant<T>{static_cast<T>(input.parameters.c)});
    }
  };
};

}  // namespace

Peer thrust_map() { return {"map", {rows<Map, Thrust>()}}; }

}  // namespace tessera::compare
