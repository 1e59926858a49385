/// \file
/// cub::DeviceRadixSort::SortPairsDescending of the whole array, whose first k pairs are the result: CUB 3.0 (CUDA
/// 13.0) has no selection of the k largest. Its order is ours: NaN first, zeros equal, stable. Only the sort is timed.

#include <concepts>
#include <cub/device/device_radix_sort.cuh>

#include "../../../apps/top_k/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using top_k::TopK;

struct Cub {
  static constexpr VariantInfo info{
      .name = "cub", .level = Level::library, .summary = "cub::DeviceRadixSort::SortPairsDescending of one row"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<TopK, Exec, T> const& input)
        : n_(input.in.extent(1)),
          places_(unset("tessera::compare::places"), n_),
          sorted_(unset("tessera::compare::sorted"), n_),
          sorted_places_(unset("tessera::compare::sorted_places"), n_) {
      if (input.in.extent(0) != 1) throw Skip("several rows (the sort is of one array)");
      number(exec);
      workspace_ = workspace_of([&](void* memory, std::size_t& bytes) { return sorted(memory, bytes, exec, input); });
    }

    // Not in the constructor: nvcc refuses a KOKKOS_LAMBDA there.
    void number(Exec const& exec) const {
      auto const places = places_;
      Kokkos::parallel_for(
          "tessera::compare::top_k::places", over(exec, n_),
          KOKKOS_LAMBDA(std::size_t i) { places(i) = static_cast<std::int64_t>(i); });
    }

    void operator()(Exec const& exec, InputOn<TopK, Exec, T> const& input, OutputOn<TopK, Exec, T> const&) {
      std::size_t bytes = workspace_.extent(0);
      check(sorted(workspace_.data(), bytes, exec, input));
    }

    void complete(Exec const& exec, InputOn<TopK, Exec, T> const&, OutputOn<TopK, Exec, T> const& output) const {
      auto const out = output;
      auto const values = sorted_;
      auto const places = sorted_places_;
      Kokkos::parallel_for(
          "tessera::compare::top_k::copy", over(exec, out.values.size()), KOKKOS_LAMBDA(std::size_t i) {
            out.values(0, i) = values(i);
            out.indices(0, i) = places(i);
          });
    }

   private:
    cudaError_t sorted(void* memory, std::size_t& bytes, Exec const& exec, InputOn<TopK, Exec, T> const& input) const {
      return with_count(n_, [&](auto n) {
        return cub::DeviceRadixSort::SortPairsDescending(memory, bytes, input.in.data(), sorted_.data(), places_.data(),
                                                         sorted_places_.data(), n, 0, 8 * static_cast<int>(sizeof(T)),
                                                         exec.cuda_stream());
      });
    }

    std::size_t n_;
    Kokkos::View<std::int64_t*, Kokkos::CudaSpace> places_;
    Kokkos::View<T*, Kokkos::CudaSpace> sorted_;
    Kokkos::View<std::int64_t*, Kokkos::CudaSpace> sorted_places_;
    Workspace workspace_;
  };
};

}  // namespace

Peer cub_top_k() { return {"top_k", {rows<TopK, Cub>()}}; }

}  // namespace tessera::compare
