/// \file
/// On several ranks, with k on all of them: each rank makes the outputs of its own block while it receives the first
/// elements of the next ranks; then it makes its border, the outputs that need the received elements. The kernel is
/// kernels/conv1d.hpp.

#include "../problem.hpp"

#include <tessera/kernels/conv1d.hpp>
#include <tessera/ranks/border.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "one block per rank, the elements after it from the next ranks"};

  template <ExecutionSpace Exec, class T>
  struct Plan : ranks::BorderPlan<Conv1d, Distributed, Exec, T, kernels::RegisterWindow<Exec, T>> {
    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input, ranks::Part const& part)
        : Plan::BorderPlan(exec, input, part, [&](std::size_t n, std::size_t, std::string const& label) {
            return kernels::RegisterWindow<Exec, T>(exec, n, input.k.extent(0), input.parameters.tile,
                                                    input.parameters.team, label);
          }) {}
  };
};

VariantRows distributed() { return rows<Conv1d, Distributed>(); }

}  // namespace tessera::conv1d
