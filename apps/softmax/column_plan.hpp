#pragma once
/// \file
/// What the variants of columns are made of: one of the kernels for them.

#include <string>

#include "problem.hpp"

#include <tessera/core/problem.hpp>

namespace tessera::softmax {

template <class Variant, class Exec, class T, class Kernel>
class ColumnPlan {
 public:
  ColumnPlan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
      : softmax_((needs_columns(input.parameters, Variant::info.name), exec), input.x.extent(0), input.x.extent(1),
                 input.parameters.team, "tessera::softmax::" + std::string(Variant::info.name)) {}

  void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input, OutputOn<Softmax, Exec, T> const& output) {
    softmax_(exec, input.x, output.y);
  }

  [[nodiscard]] double rounding_steps() const { return softmax_.rounding_steps(); }
  [[nodiscard]] Kernel const& softmax() const { return softmax_; }

 private:
  Kernel softmax_;
};

}  // namespace tessera::softmax
