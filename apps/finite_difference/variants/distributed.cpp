/// \file
/// On several ranks: each applies the stencil to its own block, while the first elements of the ranks behind are on their way;
/// then to its border, the elements that look at these. Segments cross ranks. By lanes on a GPU, through scratch on a host
/// (kernels/stencil.hpp).

#include <type_traits>

#include "../problem.hpp"

#include <tessera/kernels/stencil.hpp>
#include <tessera/ranks/border.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::finite_difference {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank its block, the elements behind it from the next ranks"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<FiniteDifference, Exec, T> const& input, ranks::Part const& part)
        : border_(part.ranks, part.input[0][0], FiniteDifference::reach(part.input, input.parameters), 1, label),
          on_block_(exec, shape_of(input, input.in.extent(0), part.ranks.block(part.input[0][0]).begin), label),
          on_strip_(exec, shape_of(input, border_.strip_rows(), border_.first()), label) {}

    void operator()(Exec const& exec, InputOn<FiniteDifference, Exec, T> const& input,
                    OutputOn<FiniteDifference, Exec, T> const& output) const {
      border_.begin(exec, input.in.data());
      on_block_(exec, input.in, output.out);
      border_.exchange(exec);
      on_strip_(exec, border_.in(), border_.out());
      border_.keep(exec, output.out.data());
    }

   private:
    using Stencil = Difference<T>;
    using Kernel = std::conditional_t<is_gpu<Exec>, kernels::LaneStencil<Exec, T, Stencil>,
                                      kernels::ScratchStencil<Exec, T, Stencil>>;
    static constexpr char const* label = "tessera::finite_difference::distributed::difference";

    // Of n elements from index `first` on.
    [[nodiscard]] static SegmentShape shape_of(InputOn<FiniteDifference, Exec, T> const& input, std::size_t n,
                                               std::size_t first) {
      SegmentShape shape = FiniteDifference::shape_of(input);
      shape.n = n;
      shape.first = first;
      return shape;
    }

    ranks::Border<Exec, T> border_;
    Kernel on_block_;
    Kernel on_strip_;
  };
};

VariantRows distributed() { return rows<FiniteDifference, Distributed>(); }

}  // namespace tessera::finite_difference
