/// \file
/// Threads with different tasks: a quarter of a team's threads only load the next tile with its halo, while the others
/// make the outputs of the current tile. They meet at the team's barrier, once per tile. The kernel is
/// pipelined_windows.hpp.

#include <algorithm>
#include <string>

#include "../pipelined_windows.hpp"

#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::conv1d {

struct LoaderThreads {
  static constexpr VariantInfo info{
      .name = "loader_threads",
      .level = Level::team,
      .summary = "some threads of a team load the next tile, the others multiply this one"};

  template <ExecutionSpace Exec, class T>
  class Plan : public PipelinedPlan<Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input) : Plan(exec, input, threads_of(exec, input)) {}

    [[nodiscard]] std::string note() const { return note_; }

   private:
    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input, int threads)
        : PipelinedPlan<Exec, T>("tessera::conv1d::loader_threads::sum", exec, input, threads, loaders_of(threads)),
          note_(threads == 1
                    ? "one thread does both"
                    : std::to_string(loaders_of(threads)) + " of " + std::to_string(threads) + " threads load") {}

    /// A host's default is one thread, too few for two tasks.
    [[nodiscard]] static int threads_of(Exec const& exec, InputOn<Conv1d, Exec, T> const& input) {
      int const threads = kernels::team_size(exec, input.parameters.team);
      return input.parameters.team > 0 || is_gpu<Exec> ? threads : std::min(2, exec.concurrency());
    }
    /// With a GPU's default the loaders are whole warps, so that no warp has both tasks.
    [[nodiscard]] static int loaders_of(int threads) { return threads == 1 ? 0 : std::max(1, threads / 4); }

    std::string note_;
  };
};

VariantRows loader_threads() { return rows<Conv1d, LoaderThreads>(); }

}  // namespace tessera::conv1d
