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
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input, ranks::Part const& part)
        : border_(exec, part.ranks, part.input[0][0], Conv1d::reach(part.input, input.parameters), 1, label),
          on_block_(exec, input.a.extent(0), input.k.extent(0), input.parameters.tile, input.parameters.team, label),
          on_strip_(exec, border_.strip_rows(), input.k.extent(0), input.parameters.tile, input.parameters.team,
                    label) {}

    void operator()(Exec const& exec, InputOn<Conv1d, Exec, T> const& input,
                    OutputOn<Conv1d, Exec, T> const& output) const {
      border_.begin(exec);
      on_block_(exec, input.a, input.k, output.out);
      border_.exchange(input.a.data());
      on_strip_(border_.side(), border_.in(), input.k, border_.out());
      border_.keep(exec, output.out.data());
    }

   private:
    static constexpr char const* label = "tessera::conv1d::distributed";

    ranks::Border<Exec, T> border_;
    kernels::RegisterWindow<Exec, T> on_block_;
    kernels::RegisterWindow<Exec, T> on_strip_;
  };
};

VariantRows distributed() { return rows<Conv1d, Distributed>(); }

}  // namespace tessera::conv1d
