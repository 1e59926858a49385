#pragma once
/// \file
/// A Plan for matrix units (tensor cores). It skips execution spaces without them.

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/variant_label.hpp>
#include <tessera/kernels/detail/gemm/matrix_units.hpp>

namespace tessera {

/// A Plan that adds a check to a variant's `Launches`, constructed from (exec, input, label). Hosts only have
/// emulated matrix units: the row is skipped, and no kernel is compiled for it. Tests use `Launches` directly, which
/// runs on hosts.
template <class Problem, class Variant, ExecutionSpace Exec, class Launches>
class OnMatrixUnits : public Launches {
 public:
  /// Throws Skip if the device has no matrix units.
  template <class Input>
  OnMatrixUnits(Exec const& exec, Input const& input)
      : Launches((kernels::require_matrix_units(exec), exec), input, label_of<Problem, Variant>()) {}

  template <class Input, class Output>
  void operator()([[maybe_unused]] Exec const& exec, [[maybe_unused]] Input const& input,
                  [[maybe_unused]] Output const& output) {
    if constexpr (is_gpu<Exec>) detail::enqueue(static_cast<Launches&>(*this), exec, input, output);
  }
};

}  // namespace tessera
