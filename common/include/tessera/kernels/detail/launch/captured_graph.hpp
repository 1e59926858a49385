#pragma once
/// \file
/// A CUDA graph, captured from a stream: launches that are recorded once and submitted as a whole.

#include <Kokkos_Core.hpp>

#ifdef KOKKOS_ENABLE_CUDA

#include <memory>

#include <tessera/kernels/detail/launch/instances.hpp>  // check_cuda

namespace tessera::kernels {

struct DestroyGraph {
  using pointer = cudaGraphExec_t;
  void operator()(cudaGraphExec_t graph) const { (void)cudaGraphExecDestroy(graph); }
};
using CapturedGraph = std::unique_ptr<cudaGraphExec_t, DestroyGraph>;

/// Returns the graph of everything that `enqueue` launches on `origin`, and on instances that wait for it. Calls
/// `enqueue` twice, because a capture must not load kernels: the first launches are executed. Waits for `origin`.
template <class Enqueue>
[[nodiscard]] CapturedGraph captured(Kokkos::Cuda const& origin, Enqueue const& enqueue) {
  enqueue();
  origin.fence("tessera: before the capture");
  check_cuda(cudaStreamBeginCapture(origin.cuda_stream(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  enqueue();
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(origin.cuda_stream(), &graph), "cudaStreamEndCapture");
  cudaGraphExec_t ready = nullptr;
  cudaError_t const error = cudaGraphInstantiateWithFlags(&ready, graph, 0);
  (void)cudaGraphDestroy(graph);
  check_cuda(error, "cudaGraphInstantiate");
  return CapturedGraph(ready);
}

/// Enqueues the graph.
inline void launch(CapturedGraph const& graph, Kokkos::Cuda const& exec) {
  check_cuda(cudaGraphLaunch(graph.get(), exec.cuda_stream()), "cudaGraphLaunch");
}

}  // namespace tessera::kernels

#endif
