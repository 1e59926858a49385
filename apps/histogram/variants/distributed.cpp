/// \file
/// On several ranks: each counts its own block (kernels/histogram.hpp), then the ranks' counts are added up, bin by bin. All
/// of them have the result.

#include "../problem.hpp"

#include <span>

#include <tessera/kernels/histogram.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed", .level = Level::ranks, .summary = "each rank counts its block, then the counts are added"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Histogram, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          count_(exec, input.in.extent(0), input.parameters.template rule<T>(), input.parameters.tile,
                 input.parameters.team, "tessera::histogram::distributed"),
          counts_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::histogram::distributed::counts"),
                  input.parameters.bins) {}

    void operator()(Exec const& exec, InputOn<Histogram, Exec, T> const& input,
                    OutputOn<Histogram, Exec, T> const& output) const {
      count_(exec, input.in, output.counts, output.outside);
      if (ranks_.count() == 1) return;
      Kokkos::deep_copy(exec, counts_, output.counts);
      Kokkos::deep_copy(exec, outside_, output.outside);
      exec.fence("tessera::histogram::distributed: own counts");
      ranks_.sum(std::span(counts_.data(), counts_.size()));
      ranks_.sum(std::span(outside_.data(), 1));
      Kokkos::deep_copy(exec, output.counts, counts_);
      Kokkos::deep_copy(exec, output.outside, outside_);
    }

   private:
    ranks::Ranks const& ranks_;
    kernels::ScratchHistogram<Exec, T> count_;
    Kokkos::View<std::int64_t*, Kokkos::HostSpace> counts_;
    Kokkos::View<std::int64_t, Kokkos::HostSpace> outside_{"tessera::histogram::distributed::outside"};
  };
};

VariantRows distributed() { return rows<Histogram, Distributed>(); }

}  // namespace tessera::histogram
