#pragma once
/// \file
/// The base of Plans that launch kernels/random.hpp.

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "problem.hpp"

#include <tessera/kernels/random.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::random {

/// Holds the kernel of the distribution and generator that the parameters name.
template <ExecutionSpace Exec, class T>
class FillPlan {
 public:
  /// \param first index of the first element that `out` holds
  FillPlan(Parameters const& parameters, std::uint64_t first, std::string const& label) {
    with_elements<T>(parameters, [&]<class Generator, class Distribution>(collective::RandomWords<Generator> const&,
                                                                          Distribution const& distribution) {
      fill_ = kernels::FillRandom<Exec, T, Distribution, Generator>(parameters.seed, parameters.stream, distribution,
                                                                    parameters.offset + first, label);
    });
  }

  void operator()(Exec const& exec, ArrayOn<T*, Exec> const& out) const { fill_(exec, out); }

 private:
  std::function<void(Exec const&, ArrayOn<T*, Exec> const&)> fill_;
};

}  // namespace tessera::random
