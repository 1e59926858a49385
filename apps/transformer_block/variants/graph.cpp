/// \file
/// The launches of `fused` as a CUDA graph, captured at the first call: one submission instead of nine launches, for
/// blocks so small that launching takes longer than computing.

#include "../fused_block.hpp"
#include "../places.hpp"

#include <type_traits>

#include <tessera/kernels/detail/launch/captured_graph.hpp>
#include <tessera/kernels/detail/launch/instances.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transformer_block {

struct Graph {
  static constexpr VariantInfo info{
      .name = "graph", .level = Level::device, .summary = "the kernels of fused in one CUDA graph"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<TransformerBlock, Exec, T> const& input)
        : instances_(ready(exec), 1), block_(exec, input, "tessera::transformer_block::graph") {}

    /// Captures the graph of these arrays if they are not those of the call before: a driver's warm-up is such a call.
    void operator()([[maybe_unused]] Exec const& exec, [[maybe_unused]] InputOn<TransformerBlock, Exec, T> const& input,
                    [[maybe_unused]] OutputOn<TransformerBlock, Exec, T> const& output) {
#ifdef KOKKOS_ENABLE_CUDA
      if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
        if (output.y.size() == 0) return;
        if (auto const places = places_of(input, output); places != places_) {
          exec.fence("tessera::transformer_block::graph: the input is complete");
          graph_ = kernels::captured(instances_[0], [&] { block_(instances_[0], input, output); });
          places_ = places;
        }
        kernels::launch(graph_, exec);
      }
#endif
    }

    [[nodiscard]] double rounding_steps() const { return block_.rounding_steps(); }

   private:
    [[nodiscard]] static Exec const& ready(Exec const& exec) {
      if (space_name<Exec>() != "cuda") throw Skip("CUDA graphs need the space cuda");
      return exec;
    }

    kernels::Instances<Exec> instances_;
    FusedBlock<Exec, T> block_;
#ifdef KOKKOS_ENABLE_CUDA
    kernels::CapturedGraph graph_;
#endif
    [[maybe_unused]] Places<InputOn<TransformerBlock, Exec, T>, OutputOn<TransformerBlock, Exec, T>> places_{};
  };
};

VariantRows graph() { return rows<TransformerBlock, Graph>(); }

}  // namespace tessera::transformer_block
