/// \file
/// The plain Kokkos answer: one index per segment, with one loop that finds its extremes and another that writes.

#include <cstddef>

#include "../problem.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

struct Plain {
  static constexpr VariantInfo info{.name = "plain",
                                    .level = Level::range,
                                    .summary = "one segment per index, in two loops, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Butterfly, Exec, T> const& input) : shape_(Butterfly::shape_of(input)) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out,
                    Parameters const& parameters) const {
      auto const op = parameters.op;
      std::size_t const n = shape_.n;
      // The pairs of a whole array are segments of two.
      std::size_t const length = shape_.segment > 0 ? shape_.segment : 2;
      Kokkos::parallel_for(
          "tessera::butterfly::plain::apply", over(exec, tiles_of(n, length)), KOKKOS_LAMBDA(std::size_t segment) {
            std::size_t const begin = segment * length;
            std::size_t const end = Kokkos::min(begin + length, n);
            T max = in(begin);
            T min = in(begin);
            for (std::size_t i = begin; i < end && op != ButterflyOp::pair_swap; ++i) {
              max = collective::Max<T>{}(max, in(i));
              min = collective::Min<T>{}(min, in(i));
            }
            for (std::size_t i = begin; i < end; ++i) {
              bool const odd = (i - begin) % 2 == 1;
              std::size_t const partner = odd ? i - 1 : Kokkos::min(i + 1, end - 1);
              T const extreme = odd && op == ButterflyOp::minmax_parity ? min : max;
              out(i) = op == ButterflyOp::pair_swap ? in(partner) : extreme;
            }
          });
    }

   private:
    SegmentShape shape_;
  };
};

VariantRows plain() { return rows<Butterfly, Plain>(); }

}  // namespace tessera::butterfly
