/// \file
/// cub::DeviceHistogram::HistogramEven. It does not count elements outside the bins. Its counters have 32 bits, which
/// is four times as fast as 64 bits (on an H200); they are widened after the timed part.

#include <concepts>
#include <cub/device/device_histogram.cuh>
#include <limits>

#include "../../../apps/histogram/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using histogram::Histogram;

/// Converts counts of 32 bits to 64 bits, as in our variants.
struct Widen {
  Kokkos::View<unsigned const*, Kokkos::CudaSpace> from;
  std::int64_t* to;

  KOKKOS_FUNCTION void operator()(std::size_t i) const { to[i] = from(i); }
};

struct Cub {
  static constexpr VariantInfo info{
      .name = "cub", .level = Level::library, .summary = "cub::DeviceHistogram::HistogramEven with 32-bit counters"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Histogram, Exec, T> const& input)
        : counts_(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "tessera::compare: counts"),
                  static_cast<std::size_t>(input.parameters.bins)) {
      if (input.in.extent(0) > std::numeric_limits<unsigned>::max()) throw Skip("its counters have 32 bits");
      workspace_ = workspace_of(
          [&](void* memory, std::size_t& bytes) { return count(memory, bytes, input, counts_.data(), exec); });
    }

    void operator()(Exec const& exec, InputOn<Histogram, Exec, T> const& input, OutputOn<Histogram, Exec, T> const&) {
      std::size_t bytes = workspace_.extent(0);
      check(count(workspace_.data(), bytes, input, counts_.data(), exec));
    }
    void complete(Exec const& exec, InputOn<Histogram, Exec, T> const&,
                  OutputOn<Histogram, Exec, T> const& output) const {
      Kokkos::parallel_for("tessera::compare::histogram::widen", over(exec, counts_.extent(0)),
                           Widen{counts_, output.counts.data()});
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "counts"}}; }

   private:
    static cudaError_t count(void* memory, std::size_t& bytes, InputOn<Histogram, Exec, T> const& input,
                             unsigned* counts, Exec const& exec) {
      auto const& p = input.parameters;
      return with_count(input.in.extent(0), [&](auto n) {
        return cub::DeviceHistogram::HistogramEven(memory, bytes, input.in.data(), counts, static_cast<int>(p.bins) + 1,
                                                   static_cast<T>(p.lo), static_cast<T>(p.hi), n, exec.cuda_stream());
      });
    }

    Kokkos::View<unsigned*, Kokkos::CudaSpace> counts_;
    Workspace workspace_;
  };
};

}  // namespace

Peer cub_histogram() { return {"histogram", {rows<Histogram, Cub>()}}; }

}  // namespace tessera::compare
