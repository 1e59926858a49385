/// \file
/// The plain answer: every element adds to its bin's count in memory, atomically.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

struct Atomic {
  static constexpr VariantInfo info{
      .name = "atomic", .level = Level::range, .summary = "one atomic per element on the counts, the baseline"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<std::int64_t*, Exec> const& counts,
                  ArrayOn<std::int64_t, Exec> const& outside, Parameters const& parameters) {
    auto const bin_of = parameters.template rule<T>();
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
VariantRows atomic() { return rows<Histogram, Atomic>(); }

}  // namespace tessera::histogram
