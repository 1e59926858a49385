/// \file
/// Every thread holds the sums of a run of consecutive outputs in registers and goes through the input that they need:
/// straight from memory for few taps, from scratch for more. The kernel is kernels/conv1d.hpp.

#include "../problem.hpp"

#include <tessera/kernels/conv1d.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

struct RegisterWindow {
  static constexpr VariantInfo info{
      .name = "register_window", .level = Level::team, .summary = "runs of sums in registers, the input slides by"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input)
        : conv_(exec, input.a.extent(0), input.k.extent(0), input.parameters.tile, input.parameters.team,
                "tessera::conv1d::register_window") {}

    void operator()(Exec const& exec, InputOn<Conv1d, Exec, T> const& input,
                    OutputOn<Conv1d, Exec, T> const& output) const {
      conv_(exec, input.a, input.k, output.out);
    }

   private:
    kernels::RegisterWindow<Exec, T> conv_;
  };
};

VariantRows register_window() { return rows<Conv1d, RegisterWindow>(); }

}  // namespace tessera::conv1d
