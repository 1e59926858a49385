/// \file
/// A team takes a row. A row of up to 16384 floats is read once into the registers of the lanes; a longer row is read
/// twice. On hosts a thread takes a row, which stays in its cache. With --axis all there is one row and one team. The
/// kernel is kernels/softmax.hpp.

#include "../plan.hpp"

#include <tessera/kernels/softmax.hpp>

namespace tessera::softmax {

struct TeamPerRow {
  static constexpr VariantInfo info{.name = "team_per_row",
                                    .level = Level::team,
                                    .summary = "a team holds a row in its registers, and reads it once"};

  template <class Exec>
  static constexpr auto method = is_gpu<Exec> ? kernels::SoftmaxMethod::team : kernels::SoftmaxMethod::loops;

  template <ExecutionSpace Exec, std::floating_point T>
  using Plan = SoftmaxPlan<TeamPerRow, Axis::rows, Exec, T,
                           kernels::RowSoftmax<Exec, T, kernels::SoftmaxTuning<Exec, T, method<Exec>>>>;
};

VariantRows team_per_row() { return rows<Softmax, TeamPerRow>(); }

}  // namespace tessera::softmax
