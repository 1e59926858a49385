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
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Conv2d, Exec, T> const& input, ranks::Part const& part)
        : border_(exec, part.ranks, part.input[0][0], Conv2d::reach(part.input, input.parameters), part.input[0][1],
                  label),
          strip_in_(border_.in().data(), border_.strip_rows(), part.input[0][1]),
          strip_out_(border_.out().data(), border_.strip_rows(), part.input[0][1]),
          on_block_(exec, input.in.extent(0), input.in.extent(1), input.parameters.team, label),
          on_strip_(exec, border_.strip_rows(), part.input[0][1], input.parameters.team, label) {}

    void operator()(Exec const& exec, InputOn<Conv2d, Exec, T> const& input,
                    OutputOn<Conv2d, Exec, T> const& output) const {
      border_.begin(exec);
      on_block_(exec, input.in, input.k, output.out);
      border_.exchange(input.in.data());
      on_strip_(border_.side(), strip_in_, input.k, strip_out_);
      border_.keep(exec, output.out.data());
    }

   private:
    using Memory = typename Exec::memory_space;
    static constexpr char const* label = "tessera::conv2d::distributed";

    ranks::Border<Exec, T> border_;
    Array<T const**, Memory> strip_in_;  // input of the border
    Array<T**, Memory> strip_out_;
    kernels::Conv2d<Exec, T> on_block_;
    kernels::Conv2d<Exec, T> on_strip_;
  };
};

VariantRows distributed() { return rows<Conv2d, Distributed>(); }

}  // namespace tessera::conv2d
