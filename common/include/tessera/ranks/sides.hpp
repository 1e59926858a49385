#pragma once
/// \file
/// Instances of an execution space whose work runs beside that of another one.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <vector>

#include <tessera/core/spaces.hpp>

namespace tessera::ranks {

/// `count` instances beside `exec`: streams of their own on a GPU; on a host `exec` itself, which has all threads.
template <ExecutionSpace Exec>
[[nodiscard]] std::vector<Exec> sides_of(Exec const& exec, std::size_t count) {
  if constexpr (is_gpu<Exec>) {
    return Kokkos::Experimental::partition_space(exec, std::vector<int>(count, 1));
  } else {
    return std::vector<Exec>(count, exec);
  }
}

}  // namespace tessera::ranks
