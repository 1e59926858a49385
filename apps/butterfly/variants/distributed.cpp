/// \file
/// On several ranks: each makes the segments that it has whole, while the missing elements of those that its ends cut are on
/// their way; then these, of which it keeps its part. By lanes on a GPU, one segment an index on a host
/// (kernels/segments.hpp).

#include <type_traits>

#include "../butterfly_rules.hpp"

#include <tessera/kernels/segments.hpp>
#include <tessera/ranks/cut_segments.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank its segments; those that cross ranks are made on each"};
  static constexpr char const* label = "tessera::butterfly::distributed::apply";

  template <class Exec, class Rule>
  using OnSegments =
      std::conditional_t<is_gpu<Exec>, kernels::SegmentLanes<Exec, Rule>, kernels::SegmentRange<Exec, Rule>>;

  template <ExecutionSpace Exec, class T>
  using Plan = ranks::SegmentPlanOnRanks<Butterfly, Distributed, Exec, T, OnSegments<Exec, PairSwapRule<T>>,
                                         OnSegments<Exec, MaxRule<T>>, OnSegments<Exec, MinMaxRule<T>>>;
};

VariantRows distributed() { return rows<Butterfly, Distributed>(); }

}  // namespace tessera::butterfly
