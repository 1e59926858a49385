/// \file
/// cub::DeviceScan: inclusive and exclusive sums.

#include <concepts>
#include <cub/device/device_scan.cuh>

#include "../../../apps/prefix_sum/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using prefix_sum::PrefixSum;

struct Cub {
  static constexpr VariantInfo info{.name = "cub",
                                    .level = Level::library,
                                    .summary = "cub::DeviceScan",
                                    .deterministic = false,
                                    .ordered_by = "arrival"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<PrefixSum, Exec, T> const& input)
        : n_(input.in.extent(0)), exclusive_(input.parameters.exclusive) {
      if (input.parameters.op != collective::OperatorKind::sum) throw Skip("compared are sums alone");
      if (input.parameters.segment != 0) throw Skip("compared is the scan of the whole array");
      workspace_ = workspace_of([&](void* memory, std::size_t& bytes) {
        return scan(memory, bytes, input.in.data(), static_cast<T*>(nullptr), exec);
      });
    }

    void operator()(Exec const& exec, InputOn<PrefixSum, Exec, T> const& input,
                    OutputOn<PrefixSum, Exec, T> const& output) {
      std::size_t bytes = workspace_.extent(0);
      check(scan(workspace_.data(), bytes, input.in.data(), output.out.data(), exec));
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "out"}}; }

   private:
    cudaError_t scan(void* memory, std::size_t& bytes, T const* in, T* out, Exec const& exec) const {
      return with_count(n_, [&](auto n) {
        if (exclusive_) return cub::DeviceScan::ExclusiveSum(memory, bytes, in, out, n, exec.cuda_stream());
        return cub::DeviceScan::InclusiveSum(memory, bytes, in, out, n, exec.cuda_stream());
      });
    }

    std::size_t n_;
    bool exclusive_;
    Workspace workspace_;
  };
};

}  // namespace

Peer cub_prefix_sum() { return {"prefix_sum", {rows<PrefixSum, Cub>()}}; }

}  // namespace tessera::compare
