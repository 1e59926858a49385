/// \file
/// cub::DeviceRadixSort: keys, or keys with values. Input and output are different arrays, as in ours. The count
/// is an int in `cub` and has 64 bits in `cub_64`: CUB then chooses other tiles, and either may be faster.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>

#include "../../../apps/sort/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using sort::Sort;

struct CountAsInt {
  template <class Call>
  static cudaError_t call_with(std::size_t n, Call const& call) {
    return with_count(n, call);
  }
};

struct CountOf64Bits {
  template <class Call>
  static cudaError_t call_with(std::size_t n, Call const& call) {
    return call(static_cast<std::int64_t>(n));
  }
};

template <class Count, ExecutionSpace Exec, class T>
class CubPlan {
 public:
  CubPlan(Exec const& exec, InputOn<Sort, Exec, T> const& input) {
    if (input.parameters.descending) throw Skip("compared is ascending order: CUB's descending order has NaN first");
    if (input.parameters.template by_some_bits<T>()) throw Skip("compared are sorts by all bits");
    workspace_ = workspace_of([&](void* memory, std::size_t& bytes) { return sorted(memory, bytes, exec, input, {}); });
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
      return Count::call_with(size, [&](auto n) {
        return cub::DeviceRadixSort::SortPairs(memory, bytes, input.keys.data(), output.keys.data(), values.data(),
                                               sorted_values.data(), n, 0, bits, exec.cuda_stream());
      });
    };
    if (input.values.extent(0) > 0) return pairs(input.values, output.values);
    if (input.other_values.extent(0) > 0) return pairs(input.other_values, output.other_values);
    return Count::call_with(size, [&](auto n) {
      return cub::DeviceRadixSort::SortKeys(memory, bytes, input.keys.data(), output.keys.data(), n, 0, bits,
                                            exec.cuda_stream());
    });
  }

  Workspace workspace_;
};

struct Cub {
  static constexpr VariantInfo info{.name = "cub", .level = Level::library, .summary = "cub::DeviceRadixSort"};
  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  using Plan = CubPlan<CountAsInt, Exec, T>;
};

struct Cub64 {
  static constexpr VariantInfo info{
      .name = "cub_64", .level = Level::library, .summary = "cub::DeviceRadixSort with a count of 64 bits"};
  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  using Plan = CubPlan<CountOf64Bits, Exec, T>;
};

}  // namespace

Peer cub_sort() { return {"sort", {rows<Sort, Cub>(), rows<Sort, Cub64>()}}; }

}  // namespace tessera::compare
