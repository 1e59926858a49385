/// \file
/// Tiles in team scratch, each with the two elements behind it as its right halo: each element is read once from memory
/// and used three times.

#include "../problem.hpp"

#include <tessera/kernels/forward_stencil.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::moving_average {

struct Scratch {
  static constexpr VariantInfo info{
      .name = "scratch", .level = Level::team, .summary = "tiles with a right halo of two elements in team scratch"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<MovingAverage, Exec, T> const& input)
        : stencil_(exec, MovingAverage::shape_of(input)) {}

    void operator()(Exec const& exec, InputOn<MovingAverage, Exec, T> const& input,
                    OutputOn<MovingAverage, Exec, T> const& output) const {
      stencil_("tessera::moving_average::scratch::mean", exec, ForwardMean<T>{}, input.in.data(), output.out.data());
    }

   private:
    kernels::ScratchStencil<Exec, T, ForwardMean<T>> stencil_;
  };
};

VariantRows scratch() { return rows<MovingAverage, Scratch>(); }

}  // namespace tessera::moving_average
