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
    requires std::same_as<Exec, Kokkos::Cuda> && std::same_as<T, collective::Accumulator<T>>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<SegmentedSum, Exec, T> const& input) {
      workspace_ =
          workspace_of([&](void* memory, std::size_t& bytes) { return sums(memory, bytes, exec, input, nullptr); });
    }

    void operator()(Exec const& exec, InputOn<SegmentedSum, Exec, T> const& input,
                    OutputOn<SegmentedSum, Exec, T> const& output) {
      std::size_t bytes = workspace_.extent(0);
      check(sums(workspace_.data(), bytes, exec, input, output.out.data()));
    }

   private:
    static cudaError_t sums(void* memory, std::size_t& bytes, Exec const& exec,
                            InputOn<SegmentedSum, Exec, T> const& input, T* out) {
      std::int64_t const* const offsets = input.offsets.data();
      return cub::DeviceSegmentedReduce::Sum(memory, bytes, input.in.data(), out,
                                             static_cast<std::int64_t>(input.offsets.extent(0)) - 1, offsets,
                                             offsets + 1, exec.cuda_stream());
    }

    Workspace workspace_;
  };
};

}  // namespace

Peer cub_segmented_sum() { return {"segmented_sum", {rows<SegmentedSum, Cub>()}}; }

}  // namespace tessera::compare
