/// \file
/// Digits of 8 bits, the lowest first, in three launches each: count the bins of chunks, scan the counts, move the
/// keys. 3n traffic per digit. The kernel is kernels/sort.hpp.

#include "../digit_sort_plan.hpp"

#include <tessera/kernels/sort.hpp>

namespace tessera::sort {

struct Radix {
  static constexpr VariantInfo info{.name = "radix",
                                    .level = Level::device,
                                    .summary = "per digit of 8 bits: count, scan, scatter; 3n traffic per digit"};

  template <ExecutionSpace Exec, class T>
  using Plan = DigitSortPlan<Radix, Exec, T, kernels::RadixSort>;
};

VariantRows radix() { return rows<Sort, Radix>(); }

}  // namespace tessera::sort
