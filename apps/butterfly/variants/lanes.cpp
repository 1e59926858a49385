/// \file
/// Every thread's 32 lanes hold segments in registers and exchange folds with the lane at the distance of a mask, which
/// doubles. Afterwards every lane has the result: no scratch, no barrier. The kernel is
/// kernels/segments.hpp.

#include "../butterfly_rules.hpp"

#include <tessera/kernels/segments.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

struct Lanes {
  static constexpr VariantInfo info{
      .name = "lanes", .level = Level::lane, .summary = "segments in registers, folded by lane exchange: no scratch"};
  static constexpr char const* label = "tessera::butterfly::lanes::apply";

  template <ExecutionSpace Exec, class T>
  using Plan = ButterflyPlan<kernels::SegmentLanes, Lanes, Exec, T>;
};

VariantRows lanes() { return rows<Butterfly, Lanes>(); }

}  // namespace tessera::butterfly
