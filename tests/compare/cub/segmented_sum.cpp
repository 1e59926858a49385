/// \file
/// cub::DeviceSegmentedReduce::Sum.

#include <concepts>
#include <cub/device/device_segmented_reduce.cuh>

#include "../../../apps/segmented_sum/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using segmented_sum::SegmentedSum;

struct Cub {
  static constexpr VariantInfo info{
      .name = "cub", .level = Level::library, .summary = "cub::DeviceSegmentedReduce::Sum"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<SegmentedSum, Exec, T> const& input) {
      workspace_ =
          workspace_of([&](void* memory, std::size_t& bytes) { return sum(memory, bytes, input, nullptr, exec); });
    }

    void operator()(Exec const& exec, InputOn<SegmentedSum, Exec, T> const& input,
                    OutputOn<SegmentedSum, Exec, T> const& output) {
      if (output.out.extent(0) == 0) return;
      std::size_t bytes = workspace_.extent(0);
      check(sum(workspace_.data(), bytes, input, output.out.data(), exec));
    }

   private:
    static cudaError_t sum(void* memory, std::size_t& bytes, InputOn<SegmentedSum, Exec, T> const& input, T* out,
                           Exec const& exec) {
      std::int64_t const* const begins = input.offsets.data();
      return cub::DeviceSegmentedReduce::Sum(memory, bytes, input.in.data(), out,
                                             static_cast<std::int64_t>(input.offsets.extent(0)) - 1, begins, begins + 1,
                                             exec.cuda_stream());
    }

    Workspace workspace_;
  };
};

}  // namespace

Peer cub_segmented_sum() { return {"segmented_sum", {rows<SegmentedSum, Cub>()}}; }

}  // namespace tessera::compare
