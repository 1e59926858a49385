/// \file
/// Tiles in team scratch, each with the element behind it as its right halo: each element is read once from memory and
/// used twice.

#include "../problem.hpp"

#include <tessera/kernels/forward_stencil.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::finite_difference {

struct Scratch {
  static constexpr VariantInfo info{
      .name = "scratch", .level = Level::team, .summary = "tiles with a right halo of one element in team scratch"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<FiniteDifference, Exec, T> const& input)
        : stencil_(exec, FiniteDifference::shape_of(input)) {}

    void operator()(Exec const& exec, InputOn<FiniteDifference, Exec, T> const& input,
                    OutputOn<FiniteDifference, Exec, T> const& output) const {
      stencil_("tessera::finite_difference::scratch::difference", exec, Difference<T>{}, input.in.data(),
               output.out.data());
    }

   private:
    kernels::ScratchStencil<Exec, T, Difference<T>> stencil_;
  };
};

VariantRows scratch() { return rows<FiniteDifference, Scratch>(); }

}  // namespace tessera::finite_difference
