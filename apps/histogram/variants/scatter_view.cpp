/// \file
/// Kokkos' own tool for scattered additions, ScatterView: on hosts each thread has a copy of the counts, and the copies
/// are added up at the end; on GPUs there is one copy with atomics.

#include <Kokkos_ScatterView.hpp>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

struct ScatterView {
  static constexpr VariantInfo info{.name = "scatter_view",
                                    .level = Level::range,
                                    .summary = "Kokkos::ScatterView: copies of the counts on hosts, atomics on GPUs"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    // Name the execution space with its own memory: Exec may not reach the default space's memory.
    using Device = Kokkos::Device<Exec, typename Exec::memory_space>;
    using Total = Kokkos::View<std::int64_t*, Kokkos::LayoutRight, Device>;
    using Scatter = Kokkos::Experimental::ScatterView<std::int64_t*, Kokkos::LayoutRight, Device>;

    // One more count than bins, for the elements outside.
    Plan(Exec const& exec, InputOn<Histogram, Exec, T> const& input)
        : total_("tessera::histogram::scatter_view::total", static_cast<std::size_t>(input.parameters.bins) + 1),
          scatter_(exec, total_) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<std::int64_t*, Exec> const& counts,
                    ArrayOn<std::int64_t, Exec> const& outside, Parameters const& parameters) {
      auto const bin_of = parameters.template rule<T>();
      Total total = total_;  // contribute takes no constant
      Scatter const scatter = scatter_;
      auto const bins = over(exec, total.extent(0));
      // Zero the total first: with a single copy it is the same memory, and copies are added to its content.
      Kokkos::parallel_for("tessera::histogram::scatter_view::zero", bins, KOKKOS_LAMBDA(int bin) { total(bin) = 0; });
      scatter_.reset(exec);
      Kokkos::parallel_for(
          "tessera::histogram::scatter_view::count", over(exec, in.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
            auto access = scatter.access();
            access(bin_of(in(i))) += std::int64_t{1};
          });
      Kokkos::Experimental::contribute(exec, total, scatter);
      Kokkos::parallel_for(
          "tessera::histogram::scatter_view::result", bins,
          KOKKOS_LAMBDA(int bin) { (bin < bin_of.count ? counts(bin) : outside()) = total(bin); });
    }

   private:
    Total total_;
    Scatter scatter_;
  };
};

VariantRows scatter_view() { return rows<Histogram, ScatterView>(); }

}  // namespace tessera::histogram
