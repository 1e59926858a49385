/// \file
/// Every thread's 32 lanes hold segments in registers and exchange folds with the lane at the distance of a mask, which
/// doubles. Afterwards every lane has the result: no scratch, no barrier.

#include "../butterfly_rules.hpp"

#include <tessera/kernels/segment_lanes.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

struct Lanes {
  static constexpr VariantInfo info{
      .name = "lanes", .level = Level::lane, .summary = "segments in registers, folded by lane exchange: no scratch"};
  struct Label {
    static constexpr char const* text = "tessera::butterfly::lanes::apply";
  };

  template <ExecutionSpace Exec, class T>
  using Plan = ButterflyPlan<kernels::SegmentLanes, Label, Exec, T>;
};

VariantRows lanes() { return rows<Butterfly, Lanes>(); }

}  // namespace tessera::butterfly
