/// \file
/// The one-line Kokkos answer: parallel_reduce over a range, into a View so that nothing waits for the host.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::dot {

struct RangeReduce {
  static constexpr VariantInfo info{
      .name = "range_reduce", .level = Level::range, .summary = "Kokkos::parallel_reduce over elements, the baseline"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Dot, Exec, T> const&) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                    ArrayOn<T, Exec> const& out) const {
      Kokkos::parallel_reduce(
          "tessera::dot::range_reduce::sum", over(exec, a.extent(0)),
          KOKKOS_LAMBDA(std::size_t i, Accumulator<T>& sum) { sum += product(a(i), b(i)); }, total_.of(out));
      total_.store(exec, out);
    }

   private:
    Total<Exec, T> total_{"tessera::dot::range_reduce::total"};
  };
};

VariantRows range_reduce() { return rows<Dot, RangeReduce>(); }

}  // namespace tessera::dot
