/// \file
/// Kokkos' own answer to scattered additions: on hosts a copy of the counts for each thread, added up at the end, on
/// GPUs atomics on the one copy.

#include <Kokkos_ScatterView.hpp>

#include "../problem.hpp"
#include "../shares.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

struct ScatterView {
  static constexpr VariantInfo info{.name = "scatter_view",
                                    .level = Level::range,
                                    .summary = "Kokkos::ScatterView: copies of the counts on hosts, atomics on GPUs"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    // Here every execution space is named with its own memory: the default one's need not be reachable from Exec.
    using Device = Kokkos::Device<Exec, typename Exec::memory_space>;
    using Total = Kokkos::View<std::int64_t*, Kokkos::LayoutRight, Device>;
    using Scatter = Kokkos::Experimental::ScatterView<std::int64_t*, Kokkos::LayoutRight, Device>;

    Plan(Exec const& exec, InputOn<Histogram, Exec, T> const& input)
        : bins_(input.parameters),
          total_("tessera::histogram::scatter_view::total", static_cast<std::size_t>(bins_.count) + 1),
          scatter_(exec, total_) {}

    void operator()(Exec const& exec, InputOn<Histogram, Exec, T> const& input,
                    OutputOn<Histogram, Exec, T> const& output) {
      T const* const in = input.in.data();
      Result const result = result_of(output);
      Bins<T> const bins = bins_;
      Total total = total_;  // contribute takes no constant
      Scatter const scatter = scatter_;
      // The total first: where there is one copy only, it is the same memory; copies are added to what is there.
      set_to_zero("tessera::histogram::scatter_view::zero", exec,
                  {total.data(), total.data() + bins.count, bins.count});
      scatter_.reset(exec);
      Kokkos::parallel_for(
          "tessera::histogram::scatter_view::count", Kokkos::RangePolicy<Exec>(exec, 0, input.in.extent(0)),
          KOKKOS_LAMBDA(std::size_t i) {
            auto access = scatter.access();
            access(bins(in[i])) += std::int64_t{1};
          });
      Kokkos::Experimental::contribute(exec, total, scatter);
      Kokkos::parallel_for(
          "tessera::histogram::scatter_view::result",
          Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int32_t>>(exec, 0, result.size()),
          KOKKOS_LAMBDA(std::int32_t bin) { result[bin] = total(bin); });
    }

   private:
    Bins<T> bins_;
    Total total_;
    Scatter scatter_;
  };
};

VariantRows scatter_view() { return rows<Histogram, ScatterView>(); }

}  // namespace tessera::histogram
