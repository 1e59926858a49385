/// \file
/// On several ranks: each applies the stencil to its own block, while the first elements of the ranks behind are on their way;
/// then to its border, the elements that look at these. Segments cross ranks. By lanes on a GPU, through scratch on a host
/// (kernels/stencil.hpp).

#include <type_traits>

#include "../problem.hpp"

#include <tessera/kernels/stencil.hpp>
#include <tessera/ranks/border.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::moving_average {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank its block, the elements behind it from the next ranks"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<MovingAverage, Exec, T> const& input, ranks::Part const& part)
        : border_(part.ranks, part.input[0][0], MovingAverage::reach(part.input, input.parameters), 1, label),
          on_block_(exec, shape_of(input, input.in.extent(0), part.ranks.block(part.input[0][0]).begin), label),
          on_strip_(exec, shape_of(input, border_.strip_rows(), border_.first()), label) {}

    void operator()(Exec const& exec, InputOn<MovingAverage, Exec, T> const& input,
                    OutputOn<MovingAverage, Exec, T> const& output) const {
      border_.begin(exec, input.in.data());
      on_block_(exec, input.in, output.out);
      border_.exchange(exec);
      on_strip_(exec, border_.in(), border_.out());
      border_.keep(exec, output.out.data());
    }

   private:
    using Stencil = ForwardMean<T>;
    using Kernel = std::conditional_t<is_gpu<Exec>, kernels::LaneStencil<Exec, T, Stencil>,
                                      kernels::ScratchStencil<Exec, T, Stencil>>;
    static constexpr char const* label = "tessera::moving_average::distributed::mean";

    // Of n elements from index `first` on.
    [[nodiscard]] static SegmentShape shape_of(InputOn<MovingAverage, Exec, T> const& input, std::size_t n,
                                               std::size_t first) {
      SegmentShape shape = MovingAverage::shape_of(input);
      shape.n = n;
      shape.first = first;
      return shape;
    }

    ranks::Border<Exec, T> border_;
    Kernel on_block_;
    Kernel on_strip_;
  };
};

VariantRows distributed() { return rows<MovingAverage, Distributed>(); }

}  // namespace tessera::moving_average
