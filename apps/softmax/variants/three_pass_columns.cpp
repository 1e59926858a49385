/// \file
/// three_pass for --axis cols: one thread per column, with loops over its rows. Neighbouring threads read neighbouring
/// columns.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct ThreePassColumns {
  static constexpr VariantInfo info{.name = "three_pass_columns",
                                    .level = Level::range,
                                    .summary = "a thread per column: loops to maximum and sum, then quotients",
                                    .lesson = true};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan {
    Plan(Exec const&, InputOn<Softmax, Exec, T> const& input) {
      needs_axis(input.parameters, {Axis::cols}, "three_pass_columns");
    }

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& x, ArrayOn<T**, Exec> const& y,
                    Softmax::Parameters const&) const {
      if (x.size() == 0) return;
      Kokkos::parallel_for(
          "tessera::softmax::three_pass_columns::columns", over(exec, x.extent(1)), KOKKOS_LAMBDA(std::size_t c) {
            T max = x(0, c);
            for (std::size_t r = 1; r < x.extent(0); ++r) {
              if (x(r, c) > max) max = x(r, c);
            }
            T sum = 0;
            for (std::size_t r = 0; r < x.extent(0); ++r) sum += Kokkos::exp(x(r, c) - max);
            for (std::size_t r = 0; r < x.extent(0); ++r) y(r, c) = Kokkos::exp(x(r, c) - max) / sum;
          });
    }
  };
};

VariantRows three_pass_columns() { return rows<Softmax, ThreePassColumns>(); }

}  // namespace tessera::softmax
