/// \file
/// One index per segment goes through the segment from the first element to the last; a host uses vector instructions.
/// The kernel is kernels/segments.hpp.

#include "../butterfly_rules.hpp"

#include <tessera/kernels/segments.hpp>

namespace tessera::butterfly {

struct Direct {
  static constexpr VariantInfo info{
      .name = "direct", .level = Level::range, .summary = "one segment per index, vectorised on a host"};

  template <ExecutionSpace Exec, class T>
  using Plan = ButterflyPlan<kernels::SegmentRange, Direct, Exec, T>;
};

VariantRows direct() { return rows<Butterfly, Direct>(); }

}  // namespace tessera::butterfly
