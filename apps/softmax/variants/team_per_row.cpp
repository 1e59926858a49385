/// \file
/// A team a row: read once into the registers of its lanes, up to 16384 floats; longer rows in two sweeps. On hosts a
/// thread a row, which stays in its cache. With --axis all there is one row, and one team.

#include "../problem.hpp"

#include <tessera/kernels/row_softmax.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct TeamPerRow {
  static constexpr VariantInfo info{.name = "team_per_row",
                                    .level = Level::team,
                                    .summary = "a team holds a row in its registers, and reads it once"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
        : Plan(exec, input, group_rows(input.x.extent(0), input.x.extent(1), input.parameters.axis)) {}

    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                    OutputOn<Softmax, Exec, T> const& output) const {
      softmax_("tessera::softmax::team_per_row::rows", exec, input.x.data(), output.y.data());
    }

    [[nodiscard]] double rounding_steps() const { return softmax_.rounding_steps(); }

   private:
    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input, GroupRows const& of)
        : softmax_((needs_rows(input.parameters, info.name), exec), of.rows, of.cols, input.parameters.team) {}

    kernels::RowSoftmax<Exec, T, kernels::SoftmaxMethod::team> softmax_;
  };
};

VariantRows team_per_row() { return rows<Softmax, TeamPerRow>(); }

}  // namespace tessera::softmax
