/// \file
/// scratch_halo with the next tile in flight: a thread starts an asynchronous copy of its part of the next window into
/// scratch and multiplies meanwhile. The kernel is pipelined_windows.hpp. The variant needs CUDA and compute capability
/// 8.0 or higher (cp.async); elsewhere the row is skipped.

#include <string>

#include "../pipelined_windows.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::conv1d {

struct AsyncHalo {
  static constexpr VariantInfo info{
      .name = "async_halo",
      .level = Level::team,
      .summary = "two windows, the next one filled by asynchronous copies (CUDA's cp.async)"};

  template <ExecutionSpace Exec, class T>
  class Plan : public PipelinedPlan<Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input)
        : PipelinedPlan<Exec, T>("tessera::conv1d::async_halo::sum", exec, input,
                                 kernels::team_size(exec, input.parameters.team), 0) {
      if (!collective::has_async_copies(exec)) {
        throw Skip("no asynchronous copies into scratch (CUDA has them from compute capability 8.0; " +
                   std::string(space_name<Exec>()) + " here does not)");
      }
    }
  };
};

VariantRows async_halo() { return rows<Conv1d, AsyncHalo>(); }

}  // namespace tessera::conv1d
