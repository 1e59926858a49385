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
  struct Plan : kernels::SinglePassSum<Exec, T, 2, kernels::Times<T>> {
    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
        : Plan::SinglePassSum(exec, input.a.extent(0), input.parameters.team, "tessera::dot::lane_reduce") {}

    [[nodiscard]] double rounding_steps() const { return Plan::SinglePassSum::rounding_steps(1); }
  };
};

VariantRows lane_reduce() { return rows<Dot, LaneReduce>(); }

}  // namespace tessera::dot
