/// \file
/// Each lane holds 16-byte packs and asks the next lane for the two elements behind them: no scratch, no barrier.

#include "../problem.hpp"

#include <tessera/kernels/forward_stencil.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::moving_average {

struct LaneShift {
  static constexpr VariantInfo info{.name = "lane_shift",
                                    .level = Level::lane,
                                    .summary = "16-byte packs in registers, neighbours from the next lane: no scratch"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<MovingAverage, Exec, T> const& input)
        : stencil_(exec, MovingAverage::shape_of(input)) {}

    void operator()(Exec const& exec, InputOn<MovingAverage, Exec, T> const& input,
                    OutputOn<MovingAverage, Exec, T> const& output) const {
      stencil_("tessera::moving_average::lane_shift::mean", exec, ForwardMean<T>{}, input.in.data(), output.out.data());
    }

   private:
    kernels::LaneShiftStencil<Exec, T, ForwardMean<T>> stencil_;
  };
};

VariantRows lane_shift() { return rows<MovingAverage, LaneShift>(); }

}  // namespace tessera::moving_average
