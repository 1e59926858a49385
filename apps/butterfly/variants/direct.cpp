/// \file
/// One segment an index, from its first element to its last: the plain Kokkos answer.

#include "../butterfly_rules.hpp"

#include <tessera/kernels/segment_range.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

struct Direct {
  static constexpr VariantInfo info{
      .name = "direct", .level = Level::range, .summary = "one segment an index, the baseline"};
  struct Label {
    static constexpr char const* text = "tessera::butterfly::direct::apply";
  };

  template <ExecutionSpace Exec, class T>
  using Plan = ButterflyPlan<kernels::SegmentRange, Label, Exec, T>;
};

VariantRows direct() { return rows<Butterfly, Direct>(); }

}  // namespace tessera::butterfly
