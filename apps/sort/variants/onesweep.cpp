/// \file
/// One launch counts the bins of all digits; then one pass per digit of 8 bits, in which tiles look back at their
/// predecessors. n traffic, and 2n per digit. The kernel is kernels/sort.hpp.

#include "../digit_sort_plan.hpp"

#include <tessera/kernels/sort.hpp>

namespace tessera::sort {

struct Onesweep {
  static constexpr VariantInfo info{
      .name = "onesweep",
      .level = Level::device,
      .summary = "all digits counted once, then a pass with look-back per digit: 2n each"};

  template <ExecutionSpace Exec, class T>
  using Plan = DigitSortPlan<Onesweep, Exec, T, kernels::OnesweepSort>;
};

VariantRows onesweep() { return rows<Sort, Onesweep>(); }

}  // namespace tessera::sort
