#pragma once
/// \file
/// The Plan of most variants, around one of the kernels that sum rows or columns.

#include <cstdint>
#include <string>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>
#include <tessera/table/shared_plan.hpp>

namespace tessera::axis_sum {

template <class Variant, std::int64_t axis, class Exec, class T, class Kernel>
class SumPlan : public Kernel {
 public:
  SumPlan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
      : Kernel((needs_axis(input.parameters, axis, Variant::info.name), exec), input.a.extent(0), input.a.extent(1),
               input.parameters.team, "tessera::axis_sum::" + std::string(Variant::info.name)) {}

  [[nodiscard]] std::string note() const
    requires requires { Variant::in_chunks; }
  {
    return note_of_chunks(this->chunks(), axis == 0);
  }
};

}  // namespace tessera::axis_sum
