/// \file
/// On several ranks, with k on all of them: each rank makes its own rows of the output while it receives the first rows
/// of the next ranks; then it makes its border, the rows that need the received rows. The kernel is kernels/conv2d.hpp.

#include "../problem.hpp"

#include <tessera/kernels/conv2d.hpp>
#include <tessera/ranks/border.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv2d {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "rows split over the ranks, the rows after them from the next ranks"};

  template <ExecutionSpace Exec, class T>
  struct Plan : ranks::BorderPlan<Conv2d, Distributed, Exec, T, kernels::Conv2d<Exec, T>> {
    Plan(Exec const& exec, InputOn<Conv2d, Exec, T> const& input, ranks::Part const& part)
        : Plan::BorderPlan(exec, input, part, [&](std::size_t rows, std::size_t, std::string const& label) {
            return kernels::Conv2d<Exec, T>(exec, rows, input.in.extent(1), input.parameters.team, label);
          }) {}
  };
};

VariantRows distributed() { return rows<Conv2d, Distributed>(); }

}  // namespace tessera::conv2d
