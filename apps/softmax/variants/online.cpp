/// \file
/// Plain Kokkos with a custom reducer: one sweep makes the maximum and the sum of exponentials together, {max, sum};
/// then a loop writes. That takes two sweeps of memory instead of three, at the cost of one comparison per element.

#include "../problem.hpp"

#include <tessera/collective/online_sum.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

namespace {

/// A Kokkos reducer to {max, sum}: reduces into a View over ranges, and into a variable when nested in a team.
template <class T, class Memory>
class OnlineReducer {
 public:
  using reducer = OnlineReducer;
  using value_type = collective::OnlineSum<T>;
  using result_view_type = Kokkos::View<value_type, Memory>;

  KOKKOS_FUNCTION explicit OnlineReducer(result_view_type const& result) : result_(result) {}
  KOKKOS_FUNCTION explicit OnlineReducer(value_type& result) : result_(&result) {}

  KOKKOS_FUNCTION void join(value_type& to, value_type const& from) const {
    to = collective::MergeOnlineSums<T>{}(to, from);
  }
  KOKKOS_FUNCTION void init(value_type& value) const { value = value_type{}; }
  [[nodiscard]] KOKKOS_FUNCTION value_type& reference() const { return *result_.data(); }
  [[nodiscard]] KOKKOS_FUNCTION result_view_type view() const { return result_; }
  [[nodiscard]] KOKKOS_FUNCTION bool references_scalar() const { return false; }

 private:
  result_view_type result_;
};

}  // namespace

struct Online {
  static constexpr VariantInfo info{.name = "online",
                                    .level = Level::range,
                                    .summary = "maximum and sum in one sweep by a custom reducer, then quotients"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    using Memory = typename Exec::memory_space;
    using Scratch = typename Exec::scratch_memory_space;
    using Teams = Kokkos::TeamPolicy<Exec>;
    using Sum = collective::OnlineSum<T>;
    using Matrix = ArrayOn<T const**, Exec>;
    using Result = ArrayOn<T**, Exec>;

    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
        : axis_(input.parameters.axis),
          lanes_(kernels::lanes_for<Exec>(input.x.extent(1))),
          threads_(kernels::team_size(exec, input.parameters.team, lanes_)),
          league_(league_of(axis_ == Axis::rows ? input.x.extent(0) : 0)),
          steps_(collective::MergeOnlineSums<T>::rounding_steps *
                 Softmax::rounding_steps({{input.x.extent(0), input.x.extent(1)}}, input.parameters)),
          sum_("tessera::softmax::online::sum") {}

    void operator()(Exec const& exec, Matrix const& x, Result const& y, Softmax::Parameters const& parameters) const {
      if (x.size() == 0) return;
      if (axis_ == Axis::all) of_row(exec, groups_of(x, parameters), groups_of(y, parameters));
      if (axis_ == Axis::rows) of_rows(exec, x, y);
      if (axis_ == Axis::cols) of_columns(exec, x, y);
    }

    template <class Row, class ResultRow>
    void of_row(Exec const& exec, Row const& x, ResultRow const& y) const {
      auto const sum = sum_;
      auto const elements = over(exec, x.extent(1));
      Kokkos::parallel_reduce(
          "tessera::softmax::online::sum", elements, KOKKOS_LAMBDA(std::size_t i, Sum& own) { own.add(x(0, i)); },
          OnlineReducer<T, Memory>(sum));
      Kokkos::parallel_for(
          "tessera::softmax::online::write", elements, KOKKOS_LAMBDA(std::size_t i) {
            y(0, i) = collective::exp_nonpositive(x(0, i) - sum().max) * sum().inverse();
          });
    }

    void of_rows(Exec const& exec, Matrix const& x, Result const& y) const {
      Kokkos::parallel_for(
          "tessera::softmax::online::rows", Teams(exec, league_, threads_, lanes_),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            int const r = team.league_rank();
            auto const columns = Kokkos::TeamVectorRange(team, x.extent(1));
            Sum sum;
            Kokkos::parallel_reduce(
                columns, [&](std::size_t c, Sum& own) { own.add(x(r, c)); }, OnlineReducer<T, Scratch>(sum));
            T const inverse = sum.inverse();
            Kokkos::parallel_for(
                columns, [&](std::size_t c) { y(r, c) = collective::exp_nonpositive(x(r, c) - sum.max) * inverse; });
          });
    }

    void of_columns(Exec const& exec, Matrix const& x, Result const& y) const {
      Kokkos::parallel_for(
          "tessera::softmax::online::columns", over(exec, x.extent(1)), KOKKOS_LAMBDA(std::size_t c) {
            Sum sum;
            for (std::size_t r = 0; r < x.extent(0); ++r) sum.add(x(r, c));
            T const inverse = sum.inverse();
            for (std::size_t r = 0; r < x.extent(0); ++r) {
              y(r, c) = collective::exp_nonpositive(x(r, c) - sum.max) * inverse;
            }
          });
    }

    /// Assumes that every element is a new maximum.
    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    Axis axis_;
    int lanes_;
    int threads_;
    int league_;
    double steps_;
    Kokkos::View<Sum, Memory> sum_;
  };
};

VariantRows online() { return rows<Softmax, Online>(); }

}  // namespace tessera::softmax
