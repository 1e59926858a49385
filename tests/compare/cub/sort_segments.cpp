/// \file
/// cub::DeviceSegmentedSort: stable sorts of keys, or of keys with values. Input and output are different arrays, as in
/// our variants.

#include <concepts>
#include <cub/device/device_segmented_sort.cuh>

#include "../../../apps/sort_segments/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using sort_segments::SortSegments;

struct Cub {
  static constexpr VariantInfo info{
      .name = "cub", .level = Level::library, .summary = "cub::DeviceSegmentedSort, stable"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<SortSegments, Exec, T> const& input) {
      if (input.parameters.descending) throw Skip("compared is ascending order: CUB's descending order has NaN first");
      workspace_ = workspace_of([&](void* memory, std::size_t& bytes) {
        return sorted(memory, bytes, exec, input, static_cast<T*>(nullptr), static_cast<std::int32_t*>(nullptr));
      });
    }

    void operator()(Exec const& exec, InputOn<SortSegments, Exec, T> const& input,
                    OutputOn<SortSegments, Exec, T> const& output) {
      std::size_t bytes = workspace_.extent(0);
      check(sorted(workspace_.data(), bytes, exec, input, output.keys.data(), output.values.data()));
    }

   private:
    static cudaError_t sorted(void* memory, std::size_t& bytes, Exec const& exec,
                              InputOn<SortSegments, Exec, T> const& input, T* keys, std::int32_t* values) {
      auto const n = static_cast<std::int64_t>(input.keys.extent(0));
      auto const rows = static_cast<std::int64_t>(input.offsets.extent(0)) - 1;
      std::int64_t const* const begins = input.offsets.data();
      if (input.values.extent(0) == 0) {
        return cub::DeviceSegmentedSort::StableSortKeys(memory, bytes, input.keys.data(), keys, n, rows, begins,
                                                        begins + 1, exec.cuda_stream());
      }
      return cub::DeviceSegmentedSort::StableSortPairs(memory, bytes, input.keys.data(), keys, input.values.data(),
                                                       values, n, rows, begins, begins + 1, exec.cuda_stream());
    }

    Workspace workspace_;
  };
};

}  // namespace

Peer cub_sort_segments() { return {"sort_segments", {rows<SortSegments, Cub>()}}; }

}  // namespace tessera::compare
