/// \file
/// Every thread holds the sums of a run of consecutive outputs in registers and goes through the input that they need:
/// straight from memory for few taps, from scratch for more. The kernel is kernels/conv1d.hpp.

#include "../problem.hpp"

#include <tessera/kernels/conv1d.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

struct RegisterWindow {
  static constexpr VariantInfo info{
      .name = "register_window", .level = Level::team, .summary = "runs of sums in registers, a sliding window"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::RegisterWindow<Exec, T> {
    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input)
        : Plan::RegisterWindow(exec, input.a.extent(0), input.k.extent(0), input.parameters.tile, input.parameters.team,
                               "tessera::conv1d::register_window") {}
  };
};

VariantRows register_window() { return rows<Conv1d, RegisterWindow>(); }

}  // namespace tessera::conv1d
