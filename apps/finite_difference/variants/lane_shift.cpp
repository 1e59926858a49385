/// \file
/// Each lane holds 16-byte packs and asks the next lane for the element behind them: no scratch, no barrier.

#include "../problem.hpp"

#include <tessera/kernels/forward_stencil.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::finite_difference {

struct LaneShift {
  static constexpr VariantInfo info{.name = "lane_shift",
                                    .level = Level::lane,
                                    .summary = "16-byte packs in registers, neighbours from the next lane: no scratch"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<FiniteDifference, Exec, T> const& input)
        : stencil_(exec, FiniteDifference::shape_of(input)) {}

    void operator()(Exec const& exec, InputOn<FiniteDifference, Exec, T> const& input,
                    OutputOn<FiniteDifference, Exec, T> const& output) const {
      stencil_("tessera::finite_difference::lane_shift::difference", exec, Difference<T>{}, input.in.data(),
               output.out.data());
    }

   private:
    kernels::LaneShiftStencil<Exec, T, Difference<T>> stencil_;
  };
};

VariantRows lane_shift() { return rows<FiniteDifference, LaneShift>(); }

}  // namespace tessera::finite_difference
