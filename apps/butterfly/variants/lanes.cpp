/// \file
/// Every thread's 32 lanes hold segments in registers. In each step a lane exchanges its fold with the lane whose
/// number differs in one bit; the bit moves up each time. At the end every lane has the result, without scratch or
/// barriers. The kernel is kernels/segments.hpp.
///
/// For pair_swap a lane holds one element of each row instead of a pack, because a pack would hold both partners. Every
/// element then comes from the neighbouring lane, by one exchange.

#include "../butterfly_rules.hpp"

#include <tessera/kernels/segments.hpp>

namespace tessera::butterfly {

namespace {

// As many bytes in flight as with packs.
template <class Exec, class T>
struct LaneSwapTuning : kernels::SegmentTuning<Exec, T> {
  static constexpr int pack = 1;
  static constexpr int rows = kernels::SegmentTuning<Exec, T>::rows * kernels::SegmentTuning<Exec, T>::pack;
  template <int RowCount>
  using Bounds = Kokkos::LaunchBounds<512, (RowCount <= rows ? 2 : 1)>;
};

}  // namespace

struct Lanes {
  static constexpr VariantInfo info{
      .name = "lanes", .level = Level::lane, .summary = "segments in registers, folded by lane exchange: no scratch"};

  template <ExecutionSpace Exec, class T>
  using Plan =
      SegmentPlan<Butterfly, Lanes, Exec, T, kernels::SegmentLanes<Exec, PairSwapRule<T>, LaneSwapTuning<Exec, T>>,
                  kernels::SegmentLanes<Exec, MaxRule<T>>, kernels::SegmentLanes<Exec, MinMaxRule<T>>>;
};

VariantRows lanes() { return rows<Butterfly, Lanes>(); }

}  // namespace tessera::butterfly
