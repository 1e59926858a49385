/// \file
/// On several ranks: each rank folds the windows of its own block while it receives the last elements of the previous
/// ranks; then it folds the windows of its border, which reach back to the received elements. The kernel is
/// kernels/pooling.hpp.
///
/// Example, 2 ranks, sum, window 3: 3 1 4 | 1 5 -> 3 4 8 | 1 6; then the strip 1 4 1 5 gives the last two outputs, 6
/// 10.

#include <cstddef>

#include "../chosen_fold.hpp"

#include <tessera/ranks/border.hpp>

namespace tessera::pooling {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "one block per rank, the elements before it from other ranks"};

  template <ExecutionSpace Exec, class T>
  struct Plan : ranks::BorderPlan<Pooling, Distributed, Exec, T, ChosenFold<Exec, T>> {
    Plan(Exec const& exec, InputOn<Pooling, Exec, T> const& input, ranks::Part const& part)
        : Plan::BorderPlan(exec, input, part, [&](std::size_t n, std::size_t, std::string const& label) {
            return ChosenFold<Exec, T>(exec, n, part.input[0][0], input.parameters, label);
          }) {}
  };
};

VariantRows distributed() { return rows<Pooling, Distributed>(); }

}  // namespace tessera::pooling
