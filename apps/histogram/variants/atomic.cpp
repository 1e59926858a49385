/// \file
/// The plain answer: every element adds to its bin's count in memory, atomically.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

struct Atomic {
  static constexpr VariantInfo info{
      .name = "atomic", .level = Level::range, .summary = "an atomic for each element on the counts, the baseline"};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Histogram, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Histogram, Exec, T> const& input,
                    OutputOn<Histogram, Exec, T> const& output) const {
      auto const in = input.in;
      auto const counts = output.counts;
      auto const outside = output.outside;
      auto const bin_of = input.parameters.template rule<T>();
      Kokkos::parallel_for(
          "tessera::histogram::atomic::zero", over(exec, bin_of.count + 1),
          KOKKOS_LAMBDA(int bin) { (bin < bin_of.count ? counts(bin) : outside()) = 0; });
      Kokkos::parallel_for(
          "tessera::histogram::atomic::count", over(exec, in.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
            int const bin = bin_of(in(i));
            Kokkos::atomic_add(bin < bin_of.count ? &counts(bin) : &outside(), std::int64_t{1});
          });
    }
  };
};
VariantRows atomic() { return rows<Histogram, Atomic>(); }

}  // namespace tessera::histogram
