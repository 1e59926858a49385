/// \file
/// Each team sums its columns over a chunk of rows and adds the sums to the output with atomics; the output is set to
/// zero first. What two stages cost, and what they save, shows in the comparison.

#include "../columns.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

struct ColumnsAtomic {
  static constexpr VariantInfo info{.name = "columns_atomic",
                                    .level = Level::team,
                                    .summary = "columns over chunks of rows, added to zeros by atomics",
                                    .deterministic = false};

  template <ExecutionSpace Exec, class T>
  class Plan : public AtomicColumns<Exec, T, SpaceColumns> {
   public:
    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
        : AtomicColumns<Exec, T, SpaceColumns>((needs_axis(input.parameters, 0, info.name), exec), input) {}
  };
};

VariantRows columns_atomic() { return rows<AxisSum, ColumnsAtomic>(); }

}  // namespace tessera::axis_sum
