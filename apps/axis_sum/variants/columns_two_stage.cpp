/// \file
/// Two launches and no atomics: each team sums its columns over a chunk of rows, then the chunks' sums are summed in
/// their order. Where columns alone keep the machine busy there is one chunk, and one launch.

#include "../columns.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

struct ColumnsTwoStage {
  static constexpr VariantInfo info{.name = "columns_two_stage",
                                    .level = Level::team,
                                    .summary = "columns over chunks of rows, then over the chunks: same bits always"};

  template <ExecutionSpace Exec, class T>
  class Plan : public TwoStageColumns<Exec, T, SpaceColumns> {
   public:
    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
        : TwoStageColumns<Exec, T, SpaceColumns>((needs_axis(input.parameters, 0, info.name), exec), input) {}
  };
};

VariantRows columns_two_stage() { return rows<AxisSum, ColumnsTwoStage>(); }

}  // namespace tessera::axis_sum
