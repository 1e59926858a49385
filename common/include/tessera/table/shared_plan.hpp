#pragma once
/// \file
/// Plans around launches that variants share.

#include <tessera/core/info.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera {

/// A Plan whose launches other variants share: constructs `Launches` from (exec, input, Variant::label). A variant of
/// level `ranks` runs them on each rank's part of the input; the ranks exchange nothing.
template <class Variant, class Launches>
class SharedPlan : public Launches {
 public:
  template <ExecutionSpace Exec, class Input>
    requires(Variant::info.level != Level::ranks)
  SharedPlan(Exec const& exec, Input const& input) : Launches(exec, input, Variant::label) {}

  template <ExecutionSpace Exec, class Input>
    requires(Variant::info.level == Level::ranks)
  SharedPlan(Exec const& exec, Input const& input, ranks::Part const&) : Launches(exec, input, Variant::label) {}
};

}  // namespace tessera
