/// \file
/// Lanes, threads, team and device in one launch. Each lane has several 16-byte accesses in flight. Lanes and threads
/// are folded without atomics. The last team to finish folds the teams' sums, in their order, so every run gives the
/// same bits. The kernel is kernels/reduce.hpp with a product as its term.

#include "../problem.hpp"

#include <tessera/kernels/reduce.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

struct LaneReduce {
  static constexpr VariantInfo info{.name = "lane_reduce",
                                    .level = Level::lane,
                                    .summary = "16-byte accesses, lanes, threads, team; last team folds: one launch"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
        : sum_(exec, input.a.extent(0), input.parameters.team, "tessera::dot::lane_reduce") {}

    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      sum_(exec, input.a, input.b, output.out);
    }

    [[nodiscard]] double rounding_steps() const { return sum_.rounding_steps(1); }

   private:
    kernels::SinglePassSum<Exec, T, 2, kernels::Times<T>> sum_;
  };
};

VariantRows lane_reduce() { return rows<Dot, LaneReduce>(); }

}  // namespace tessera::dot
