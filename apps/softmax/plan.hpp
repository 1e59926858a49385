#pragma once
/// \file
/// The Plans of most variants, around one of the kernels for rows or for columns.

#include <string>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>
#include <tessera/table/shared_plan.hpp>

namespace tessera::softmax {

/// \tparam axis cols, or rows for all others
/// \tparam Kernel constructed from (exec, rows, columns, team, label)
template <class Variant, Axis axis, class Exec, class T, class Kernel>
class SoftmaxPlan : public Kernel {
 public:
  SoftmaxPlan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
      : SoftmaxPlan(exec, input.parameters, groups_of(input.x, input.parameters)) {}

  void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input, OutputOn<Softmax, Exec, T> const& output) {
    Kernel::operator()(exec, groups_of(input.x, input.parameters), groups_of(output.y, input.parameters));
  }

  [[nodiscard]] std::string note() const
    requires requires(Kernel const& kernel) { kernel.chunks(); }
  {
    return note_of_chunks(this->chunks(), axis == Axis::cols);
  }

 private:
  template <class Groups>
  SoftmaxPlan(Exec const& exec, Softmax::Parameters const& parameters, Groups const& x)
      : Kernel((axis == Axis::cols ? needs_axis(parameters, {Axis::cols}, Variant::info.name)
                                   : needs_axis(parameters, {Axis::all, Axis::rows}, Variant::info.name),
                exec),
               x.extent(0), x.extent(1), parameters.team, "tessera::softmax::" + std::string(Variant::info.name)) {}
};

}  // namespace tessera::softmax
