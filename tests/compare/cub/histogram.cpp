/// \file
/// cub::DeviceHistogram::HistogramEven. It does not count what lies outside of the bins.

#include <concepts>
#include <cub/device/device_histogram.cuh>

#include "../../../apps/histogram/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using histogram::Histogram;

struct Cub {
  static constexpr VariantInfo info{
      .name = "cub", .level = Level::library, .summary = "cub::DeviceHistogram::HistogramEven"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Histogram, Exec, T> const& input) {
      workspace_ = workspace_of([&](void* memory, std::size_t& bytes) {
        return count(memory, bytes, input, static_cast<unsigned long long*>(nullptr), exec);
      });
    }

    void operator()(Exec const& exec, InputOn<Histogram, Exec, T> const& input,
                    OutputOn<Histogram, Exec, T> const& output) {
      std::size_t bytes = workspace_.extent(0);
      check(count(workspace_.data(), bytes, input, reinterpret_cast<unsigned long long*>(output.counts.data()), exec));
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "counts"}}; }

   private:
    static cudaError_t count(void* memory, std::size_t& bytes, InputOn<Histogram, Exec, T> const& input,
                             unsigned long long* counts, Exec const& exec) {
      auto const& p = input.parameters;
      return cub::DeviceHistogram::HistogramEven(memory, bytes, input.in.data(), counts, static_cast<int>(p.bins) + 1,
                                                 static_cast<T>(p.lo), static_cast<T>(p.hi),
                                                 static_cast<std::int64_t>(input.in.extent(0)), exec.cuda_stream());
    }

    Workspace workspace_;
  };
};

}  // namespace

Peer cub_histogram() { return {"histogram", rows<Histogram, Cub>()}; }

}  // namespace tessera::compare
