#pragma once
/// \file
/// Kokkos::Experimental::Graph as Kokkos 4.6 to 5.2 have it.

#include <Kokkos_Core.hpp>
#include <Kokkos_Graph.hpp>

#include <tessera/core/spaces.hpp>

namespace tessera::concurrent {

/// Returns a graph with the nodes that `add(root)` adds. Newer versions of Kokkos take a handle of the device instead
/// of an instance.
template <ExecutionSpace Exec, class Add>
[[nodiscard]] Kokkos::Experimental::Graph<Exec> graph_of(Exec const& exec, Add const& add) {
#if __has_include(<impl/Kokkos_DeviceHandle.hpp>)
  return Kokkos::Experimental::create_graph(Kokkos::Experimental::get_device_handle(exec), add);
#else
  return Kokkos::Experimental::create_graph(exec, add);
#endif
}

/// A node of any kind.
template <ExecutionSpace Exec>
using Node = Kokkos::Experimental::GraphNodeRef<Exec>;

}  // namespace tessera::concurrent
