#pragma once
/// \file
/// The Plans of most variants, around one of the kernels for rows or for columns.

#include <string>

#include "problem.hpp"

#include <tessera/core/problem.hpp>

namespace tessera::softmax {

template <class Variant, Axis axis, class Exec, class T, class Kernel>
class KernelPlan {
 public:
  KernelPlan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
      : KernelPlan(exec, input.parameters, groups_of(input.x, input.parameters)) {}

  void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input, OutputOn<Softmax, Exec, T> const& output) {
    softmax_(exec, groups_of(input.x, input.parameters), groups_of(output.y, input.parameters));
  }

  [[nodiscard]] double rounding_steps() const { return softmax_.rounding_steps(); }
  [[nodiscard]] Kernel const& softmax() const { return softmax_; }

 private:
  template <class Groups>
  KernelPlan(Exec const& exec, Softmax::Parameters const& parameters, Groups const& x)
      : softmax_((needs_axis(parameters, axis, Variant::info.name), exec), x.extent(0), x.extent(1), parameters.team,
                 "tessera::softmax::" + std::string(Variant::info.name)) {}

  Kernel softmax_;
};

}  // namespace tessera::softmax
