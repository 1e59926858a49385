#pragma once
/// \file
/// The Plan of a kernel that counts on Views.

#include <string>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

/// The Plan of a variant around a kernel.
/// \tparam Kernel constructed from (exec, n, bins, tile, team, label)
template <class Variant, ExecutionSpace Exec, class T, class Kernel>
class CountPlan : public Kernel {
 public:
  CountPlan(Exec const& exec, InputOn<Histogram, Exec, T> const& input)
      : Kernel(exec, input.in.extent(0), input.parameters.template rule<T>(), input.parameters.tile,
               input.parameters.team, "tessera::histogram::" + std::string(Variant::info.name)) {}
};

}  // namespace tessera::histogram
