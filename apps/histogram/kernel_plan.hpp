#pragma once
/// \file
/// The Plan of a kernel that counts on Views.

#include <string>

#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::histogram {

/// The Plan of a variant with a member `template <Exec, T> Kernel`. The kernel is constructed from (exec, n, bins,
/// tile, team, label) and enqueued with (exec, in, counts, outside).
template <class Variant, ExecutionSpace Exec, class T>
class KernelPlan {
 public:
  KernelPlan(Exec const& exec, InputOn<Histogram, Exec, T> const& input)
      : kernel_(exec, input.in.extent(0), input.parameters.template rule<T>(), input.parameters.tile,
                input.parameters.team, "tessera::histogram::" + std::string(Variant::info.name)) {}

  void operator()(Exec const& exec, InputOn<Histogram, Exec, T> const& input,
                  OutputOn<Histogram, Exec, T> const& output) const {
    kernel_(exec, input.in, output.counts, output.outside);
  }
  [[nodiscard]] std::string note() const { return kernel_.note(); }

 private:
  typename Variant::template Kernel<Exec, T> kernel_;
};

}  // namespace tessera::histogram
