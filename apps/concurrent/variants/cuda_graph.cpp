/// \file
/// A CUDA graph, captured from the streams of the instances: the launches of `instances`, recorded once. A call
/// launches the whole graph.

#include "../chains.hpp"

#include <type_traits>

#include <tessera/kernels/detail/launch/captured_graph.hpp>
#include <tessera/kernels/detail/launch/instances.hpp>

namespace tessera::concurrent {

struct CudaGraph {
  static constexpr VariantInfo info{
      .name = "cuda_graph", .level = Level::device, .summary = "a CUDA graph, captured from an instance per chain"};

  template <ExecutionSpace Exec, class T>
  class Plan : public FixedChains<Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<Concurrent, Exec, T> const& input) : Plan::FixedChains(exec, input) {
#ifdef KOKKOS_ENABLE_CUDA
      if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
        kernels::Instances<Exec> const instances(exec, static_cast<std::size_t>(input.parameters.chains));
        this->set_ends("tessera::concurrent::capture::ends", exec, this->between(), this->between());
        exec.fence("tessera::concurrent: ends of the first launch");
        graph_ = kernels::captured(instances[0], [&] { enqueue(instances); });
      } else {
        throw Skip("CUDA graphs need the space cuda");
      }
#else
      throw Skip("CUDA graphs need the space cuda");
#endif
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out) const {
      this->set_ends("tessera::concurrent::cuda_graph::ends", exec, in.data(), out.data());
#ifdef KOKKOS_ENABLE_CUDA
      if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
        kernels::launch(graph_, exec);
      }
#endif
    }

   private:
#ifdef KOKKOS_ENABLE_CUDA
    // These kernels run only while the graph is captured. Their labels differ from the labels of the row.
    void enqueue(kernels::Instances<Exec> const& instances) const {
      instances.fork(instances[0]);
      for (std::int64_t chain = 0; chain < this->chains().count; ++chain) {
        std::size_t const size = this->chains().chunk(chain).size;
        for (std::int64_t kernel = 0; kernel < this->chains().kernels; ++kernel) {
          Kokkos::parallel_for("tessera::concurrent::capture::step",
                               over(instances[static_cast<std::size_t>(chain)], size), this->kernel(chain, kernel));
        }
      }
      instances.join(instances[0]);
    }

    kernels::CapturedGraph graph_;
#endif
  };
};

VariantRows cuda_graph() { return rows<Concurrent, CudaGraph>(); }

}  // namespace tessera::concurrent
