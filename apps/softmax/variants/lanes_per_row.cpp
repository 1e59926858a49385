/// \file
/// 1, 4, 16 or 32 lanes a row by its length, the row in their registers, several rows under way in each thread. For
/// rows of up to 1024 floats or 512 doubles.

#include "../problem.hpp"

#include <tessera/kernels/row_softmax.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct LanesPerRow {
  static constexpr VariantInfo info{.name = "lanes_per_row",
                                    .level = Level::lane,
                                    .summary = "1 to 32 lanes hold a row in their registers, several rows under way"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
        : Plan(exec, input, group_rows(input.x.extent(0), input.x.extent(1), input.parameters.axis)) {}

    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                    OutputOn<Softmax, Exec, T> const& output) const {
      softmax_("tessera::softmax::lanes_per_row::rows", exec, input.x.data(), output.y.data());
    }

    [[nodiscard]] double rounding_steps() const { return softmax_.rounding_steps(); }

   private:
    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input, GroupRows const& of)
        : softmax_((needs_rows(input.parameters, info.name), exec), of.rows, of.cols, input.parameters.team) {}

    kernels::RowSoftmax<Exec, T, kernels::SoftmaxMethod::lanes> softmax_;
  };
};

VariantRows lanes_per_row() { return rows<Softmax, LanesPerRow>(); }

}  // namespace tessera::softmax
