/// \file
/// cub::DeviceRadixSort: keys, or keys with values. Input and output are different arrays, as in our variants.

#include <concepts>
#include <cub/device/device_radix_sort.cuh>

#include "../../../apps/sort/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using sort::Sort;

struct Cub {
  static constexpr VariantInfo info{.name = "cub", .level = Level::library, .summary = "cub::DeviceRadixSort"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Sort, Exec, T> const& input) {
      if (input.parameters.descending) throw Skip("compared is ascending order: CUB's descending order has NaN first");
      if (input.parameters.template by_some_bits<T>()) throw Skip("compared are sorts by all bits");
      workspace_ =
          workspace_of([&](void* memory, std::size_t& bytes) { return sorted(memory, bytes, exec, input, {}); });
    }

    void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& input, OutputOn<Sort, Exec, T> const& output) {
      std::size_t bytes = workspace_.extent(0);
      check(sorted(workspace_.data(), bytes, exec, input, output));
    }

   private:
    static cudaError_t sorted(void* memory, std::size_t& bytes, Exec const& exec, InputOn<Sort, Exec, T> const& input,
                              OutputOn<Sort, Exec, T> const& output) {
      std::size_t const size = input.keys.extent(0);
      constexpr int bits = collective::key_bits<T>;
      auto const pairs = [&](auto const& values, auto const& sorted_values) {
        return with_count(size, [&](auto n) {
          return cub::DeviceRadixSort::SortPairs(memory, bytes, input.keys.data(), output.keys.data(), values.data(),
                                                 sorted_values.data(), n, 0, bits, exec.cuda_stream());
        });
      };
      if (input.values.extent(0) > 0) return pairs(input.values, output.values);
      if (input.other_values.extent(0) > 0) return pairs(input.other_values, output.other_values);
      return with_count(size, [&](auto n) {
        return cub::DeviceRadixSort::SortKeys(memory, bytes, input.keys.data(), output.keys.data(), n, 0, bits,
                                              exec.cuda_stream());
      });
    }

    Workspace workspace_;
  };
};

}  // namespace

Peer cub_sort() { return {"sort", {rows<Sort, Cub>()}}; }

}  // namespace tessera::compare
