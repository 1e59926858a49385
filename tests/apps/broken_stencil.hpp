#pragma once
/// \file
/// Wrong stencils: a mistake defines the value of one element.

#include "broken_rows.hpp"

#include <cstddef>

namespace tessera::testing {

/// out[i] = Mistake::at(in, i, n, segment).
template <class Mistake, class T>
struct WrongStencilKernel {
  T const* in;
  T* out;
  std::size_t n;
  std::size_t segment;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { out[i] = Mistake::at(in, i, n, segment); }
};

/// For the dtypes that the mistake accepts.
template <class Problem, class Mistake>
struct WrongStencil {
  template <ExecutionSpace Exec, class T>
    requires requires(T const* in, std::size_t n) { Mistake::at(in, n, n, n); }
  void operator()(Exec const& exec, InputOn<Problem, Exec, T> const& in, OutputOn<Problem, Exec, T> const& out) const {
    std::size_t const n = in.in.extent(0);
    Kokkos::parallel_for("tessera::tests::broken_stencil", Kokkos::RangePolicy<Exec>(exec, 0, n),
                         WrongStencilKernel<Mistake, T>{in.in.data(), out.out.data(), n, in.parameters.segment});
  }
};

}  // namespace tessera::testing
