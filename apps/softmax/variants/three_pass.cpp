/// \file
/// The plain Kokkos answer, straight from the formula: a reduction to the maximum, a reduction to the sum of
/// exponentials, and a loop that writes. With --axis all they are range policies; with rows they are nested in one team
/// per row; with columns each column has one thread, and neighbouring threads have neighbouring columns.
///
/// Kokkos::Max ignores a NaN. The result is still NaN: the element's exponential is NaN, and so is the sum.

#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct ThreePass {
  static constexpr VariantInfo info{.name = "three_pass",
                                    .level = Level::range,
                                    .summary = "maximum, sum, quotients: three sweeps of plain Kokkos, the baseline"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    using Memory = typename Exec::memory_space;
    using Teams = Kokkos::TeamPolicy<Exec>;
    using Matrix = ArrayOn<T const**, Exec>;
    using Result = ArrayOn<T**, Exec>;

    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
        : axis_(input.parameters.axis),
          lanes_(kernels::lanes_for<Exec>(input.x.extent(1))),
          threads_(kernels::team_size(exec, input.parameters.team, lanes_)),
          league_(league_of(axis_ == Axis::rows ? input.x.extent(0) : 0)),
          max_("tessera::softmax::three_pass::max"),
          sum_("tessera::softmax::three_pass::sum") {}

    void operator()(Exec const& exec, Matrix const& x, Result const& y, Softmax::Parameters const& parameters) const {
      if (x.size() == 0) return;
      if (axis_ == Axis::all) of_row(exec, groups_of(x, parameters), groups_of(y, parameters));
      if (axis_ == Axis::rows) of_rows(exec, x, y);
      if (axis_ == Axis::cols) of_columns(exec, x, y);
    }

    template <class Row, class ResultRow>
    void of_row(Exec const& exec, Row const& x, ResultRow const& y) const {
      auto const max = max_;
      auto const sum = sum_;
      auto const elements = over(exec, x.extent(1));
      Kokkos::parallel_reduce(
          "tessera::softmax::three_pass::max", elements,
          KOKKOS_LAMBDA(std::size_t i, T& largest) {
            if (x(0, i) > largest) largest = x(0, i);
          },
          Kokkos::Max<T, Memory>(max));
      Kokkos::parallel_reduce(
          "tessera::softmax::three_pass::sum", elements,
          KOKKOS_LAMBDA(std::size_t i, T& total) { total += Kokkos::exp(x(0, i) - max()); }, sum);
      Kokkos::parallel_for(
          "tessera::softmax::three_pass::write", elements,
          KOKKOS_LAMBDA(std::size_t i) { y(0, i) = Kokkos::exp(x(0, i) - max()) / sum(); });
    }

    void of_rows(Exec const& exec, Matrix const& x, Result const& y) const {
      Kokkos::parallel_for(
          "tessera::softmax::three_pass::rows", Teams(exec, league_, threads_, lanes_),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            int const r = team.league_rank();
            auto const columns = Kokkos::TeamVectorRange(team, x.extent(1));
            T max;
            Kokkos::parallel_reduce(
                columns,
                [&](std::size_t c, T& largest) {
                  if (x(r, c) > largest) largest = x(r, c);
                },
                Kokkos::Max<T>(max));
            T sum;
            Kokkos::parallel_reduce(
                columns, [&](std::size_t c, T& total) { total += Kokkos::exp(x(r, c) - max); }, sum);
            Kokkos::parallel_for(columns, [&](std::size_t c) { y(r, c) = Kokkos::exp(x(r, c) - max) / sum; });
          });
    }

    void of_columns(Exec const& exec, Matrix const& x, Result const& y) const {
      Kokkos::parallel_for(
          "tessera::softmax::three_pass::columns", over(exec, x.extent(1)), KOKKOS_LAMBDA(std::size_t c) {
            T max = x(0, c);
            for (std::size_t r = 1; r < x.extent(0); ++r) {
              if (x(r, c) > max) max = x(r, c);
            }
            T sum = 0;
            for (std::size_t r = 0; r < x.extent(0); ++r) sum += Kokkos::exp(x(r, c) - max);
            for (std::size_t r = 0; r < x.extent(0); ++r) y(r, c) = Kokkos::exp(x(r, c) - max) / sum;
          });
    }

   private:
    Axis axis_;
    int lanes_;
    int threads_;
    int league_;
    Kokkos::View<T, Memory> max_;
    Kokkos::View<T, Memory> sum_;
  };
};

VariantRows three_pass() { return rows<Softmax, ThreePass>(); }

}  // namespace tessera::softmax
