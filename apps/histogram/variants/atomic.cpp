/// \file
/// The plain answer: every element adds to its bin's count in memory, atomically.

#include "../problem.hpp"
#include "../shares.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

struct Atomic {
  static constexpr VariantInfo info{.name = "atomic",
                                    .level = Level::range,
                                    .summary = "an atomic for each element on the counts in memory, the baseline"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Histogram, Exec, T> const& input) : bins_(input.parameters) {}

    void operator()(Exec const& exec, InputOn<Histogram, Exec, T> const& input,
                    OutputOn<Histogram, Exec, T> const& output) const {
      T const* const in = input.in.data();
      Result const result = result_of(output);
      Bins<T> const bins = bins_;
      set_to_zero("tessera::histogram::atomic::zero", exec, result);
      Kokkos::parallel_for(
          "tessera::histogram::atomic::count", Kokkos::RangePolicy<Exec>(exec, 0, input.in.extent(0)),
          KOKKOS_LAMBDA(std::size_t i) { Kokkos::atomic_add(&result[bins(in[i])], std::int64_t{1}); });
    }

   private:
    Bins<T> bins_;
  };
};

VariantRows atomic() { return rows<Histogram, Atomic>(); }

}  // namespace tessera::histogram
