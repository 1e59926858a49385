/// \file
/// thrust::transform, which returns before the work is finished.

#include <thrust/device_ptr.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/transform.h>
#include <concepts>

#include "../../../apps/zip/problem.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using zip::Zip;

struct Thrust {
  static constexpr VariantInfo info{.name = "thrust", .level = Level::library, .summary = "thrust::transform"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  struct Plan {
    Plan(Exec const&, InputOn<Zip, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& input, OutputOn<Zip, Exec, T> const& output) const {
      auto const policy = thrust::cuda::par_nosync.on(exec.cuda_stream());
      std::size_t const n = input.a.extent(0);
      thrust::transform(policy, thrust::device_pointer_cast(input.a.data()),
                        thrust::device_pointer_cast(input.a.data()) + n, thrust::device_pointer_cast(input.b.data()),
                        thrust::device_pointer_cast(output.out.data()), zip::Add<T>{});
    }
  };
};

}  // namespace

Peer thrust_zip() { return {"zip", {rows<Zip, Thrust>()}}; }

}  // namespace tessera::compare
