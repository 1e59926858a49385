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

/// A stream that is captured until end() or, if an exception comes first, until the destructor: memory cannot be freed
/// during a capture. Tools are paused, because Kokkos may wait for the device before it calls them.
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream), tools_(Kokkos::Tools::profileLibraryLoaded()) {
    if (tools_) Kokkos::Tools::Experimental::pause_tools();
    cudaError_t const error = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    if (error == cudaSuccess) return;
    if (tools_) Kokkos::Tools::Experimental::resume_tools();
    check_cuda(error, "cudaStreamBeginCapture");
  }
  Capture(Capture const&) = delete;
  Capture& operator=(Capture const&) = delete;
  ~Capture() {
    cudaGraph_t graph = nullptr;
    if (!ended_ && finish(graph) == cudaSuccess) (void)cudaGraphDestroy(graph);
  }

  [[nodiscard]] cudaGraph_t end() {
    cudaGraph_t graph = nullptr;
    check_cuda(finish(graph), "cudaStreamEndCapture");
    return graph;
  }

 private:
  cudaError_t finish(cudaGraph_t& graph) {
    ended_ = true;
    if (tools_) Kokkos::Tools::Experimental::resume_tools();
    cudaError_t const error = cudaStreamEndCapture(stream_, &graph);
    if (error != cudaSuccess) (void)cudaGetLastError();  // Kokkos would report it at its next launch
    return error;
  }

  cudaStream_t stream_;
  bool tools_;
  bool ended_ = false;
};

/// Returns the graph of everything that `enqueue` launches on `origin`, and on instances that wait for it. Calls
/// `enqueue` twice, because a capture must not load kernels: the first launches are executed. Waits for `origin`.
/// Tools of Kokkos see only the first launches.
template <class Enqueue>
[[nodiscard]] CapturedGraph captured(Kokkos::Cuda const& origin, Enqueue const& enqueue) {
  enqueue();
  origin.fence("tessera: before the capture");
  Capture capture(origin.cuda_stream());
  enqueue();
  cudaGraph_t const graph = capture.end();
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
