/// \file
/// Clusters of four teams sum one chunk each: a team reads the sums of the others in their scratch, so that the output
/// gets one atomic addition per cluster (a separate launch sets it to zero first). The kernel is cluster_sum.hpp. CUDA
/// from compute capability 9.0; elsewhere the row is skipped.

#include "../cluster_sum.hpp"

#include <cmath>
#include <string>

#include <tessera/kernels/detail/launch/cluster.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

struct ClusterSum {
  static constexpr VariantInfo info{.name = "cluster_sum",
                                    .level = Level::lane,
                                    .summary = "teams of a cluster read each other's scratch; clusters by atomics",
                                    .deterministic = false};

  template <ExecutionSpace Exec, class T>
  class Plan {
    using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
    using Kernel = ClusterSumKernel<Exec, T, Lanes>;
    static constexpr int teams = 4;
    static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);

   public:
    static constexpr bool atomic_sums = true;

    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team, vector_length)),
          launch_(exec, {.size = teams,
                         .threads = threads_,
                         .lanes = vector_length,
                         .scratch_bytes = Kernel::scratch_bytes(threads_)}),
          chunks_(kernels::split(input.a.extent(0), 16 * lanes_of_cluster(), launch_.resident())) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                    ArrayOn<T, Exec> const& output) const {
      auto const out = total_.of(output);
      Kokkos::deep_copy(exec, out, Accumulator<T>(0));
      launch_("tessera::dot::cluster_sum::sum", exec, chunks_.count, Kernel{a.data(), b.data(), out.data(), chunks_});
      total_.store(exec, output);
    }

    /// Counts a product, a lane's part, the lanes, the threads, the teams, and at worst one cluster after the other.
    [[nodiscard]] double rounding_steps() const {
      return 1 + std::ceil(static_cast<double>(chunks_.size) / static_cast<double>(lanes_of_cluster())) +
             std::log2(Lanes::width) + threads_ + teams + chunks_.count;
    }
    [[nodiscard]] std::string note() const {
      return std::to_string(chunks_.count) + (chunks_.count == 1 ? " cluster of " : " clusters of ") +
             std::to_string(teams);
    }

   private:
    [[nodiscard]] std::size_t lanes_of_cluster() const {
      return static_cast<std::size_t>(teams * threads_ * vector_length);
    }

    int threads_;
    kernels::ClusterLaunch<Exec, Kernel> launch_;
    kernels::Chunks chunks_;
    Total<Exec, T> total_{"tessera::dot::cluster_sum::total"};
  };
};

VariantRows cluster_sum() { return rows<Dot, ClusterSum>(); }

}  // namespace tessera::dot
