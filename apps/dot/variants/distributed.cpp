/// \file
/// On several ranks: each rank sums the products of its own blocks in one launch (kernels/reduce.hpp). The ranks' sums
/// are added in the order of the ranks, so all ranks have the same result, in every run.

#include "../problem.hpp"

#include <tessera/kernels/reduce.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank sums its blocks, then the ranks' sums are added"};

  template <ExecutionSpace Exec, class T>
    requires(!ShortFloat<T>)  // the sum of a rank would be rounded before it is added
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks), sum_(exec, input.a.extent(0), input.parameters.team, "tessera::dot::distributed") {}

    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      if (ranks_.count() == 1) return sum_(exec, input.a, input.b, output.out);
      sum_(exec, input.a, input.b, own_);
      exec.fence("tessera::dot::distributed: own sum");
      T const all = ranks_.fold(own_(), collective::Sum<T>{});
      Kokkos::deep_copy(exec, output.out, all);
    }

    /// Every further rank adds one rounding.
    [[nodiscard]] double rounding_steps() const { return sum_.rounding_steps(1) + ranks_.count() - 1; }

   private:
    ranks::Ranks const& ranks_;
    kernels::SinglePassSum<Exec, T, 2, kernels::Times<T>> sum_;
    // This rank's sum, in memory that the kernel writes and the host reads.
    Kokkos::View<T, Kokkos::SharedHostPinnedSpace> own_{"tessera::dot::distributed::own"};
  };
};

VariantRows distributed() { return rows<Dot, Distributed>(); }

}  // namespace tessera::dot
