/// \file
/// Tiles of whole segments in team scratch. Each segment is folded by halving: the second half is folded onto the
/// first, with one barrier per step. The kernel is kernels/segments.hpp.

#include "../butterfly_rules.hpp"

#include <tessera/kernels/segments.hpp>

namespace tessera::butterfly {

struct Scratch {
  static constexpr VariantInfo info{
      .name = "scratch", .level = Level::team, .summary = "segments in team scratch, folded by halving"};

  template <ExecutionSpace Exec, class T>
  using Plan = ButterflyPlan<kernels::SegmentScratch, Scratch, Exec, T>;
};

VariantRows scratch() { return rows<Butterfly, Scratch>(); }

}  // namespace tessera::butterfly
