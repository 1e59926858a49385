/// \file
/// Each team counts its chunk in scratch, with atomics that never leave the multiprocessor, and adds its counts to the
/// result at the end. Two threads (of 32 lanes on a GPU) share a copy of the counts if scratch is large enough. The
/// kernel is kernels/histogram.hpp.

#include "../plan.hpp"

#include <tessera/kernels/histogram.hpp>

namespace tessera::histogram {

struct ScratchAtomic {
  static constexpr VariantInfo info{.name = "scratch_atomic",
                                    .level = Level::lane,
                                    .summary = "counts per team in scratch, by atomics, then added to the result"};
  template <ExecutionSpace Exec, class T>
  using Plan = CountPlan<ScratchAtomic, Exec, T, kernels::ScratchHistogram<Exec, T>>;
};

VariantRows scratch_atomic() { return rows<Histogram, ScratchAtomic>(); }

}  // namespace tessera::histogram
