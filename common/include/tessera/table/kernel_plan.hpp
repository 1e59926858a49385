#pragma once
/// \file
/// Plans around one object that does all the work: a kernel of kernels/, or launches that variants share.

#include <Kokkos_Core.hpp>

#include <tuple>

#include <tessera/core/info.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera {

/// A Plan that is a kernel object. It calls the kernel with the views of all input fields, then of all output fields.
/// Members of the kernel that are optional members of a Plan, such as rounding_steps(), are the Plan's.
template <class Kernel>
class KernelPlan : public Kernel {
 public:
  using Kernel::Kernel;

  template <ExecutionSpace Exec, class Input, class Output>
  void operator()(Exec const& exec, Input const& input, Output const& output) {
    std::apply([&](auto const&... views) { static_cast<Kernel&>(*this)(exec, views...); },
               std::tuple_cat(Input::fields(input), Output::fields(output)));
  }
};

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
