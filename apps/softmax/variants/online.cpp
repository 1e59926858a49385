/// \file
/// Plain Kokkos with a reducer of its own: maximum and sum of exponentials together, {max, sum}, in one sweep; then a
/// loop that writes. Two sweeps of memory instead of three, for the price of a comparison an element.

#include "../problem.hpp"

#include <tessera/collective/online_reducer.hpp>
#include <tessera/collective/online_sum.hpp>
#include <tessera/kernels/row_tiles.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

namespace {

template <class T, class Memory>
struct OnlineOfAll {
  Array<T const**, Memory> x;
  Array<T**, Memory> y;
  Kokkos::View<collective::OnlineSum<T>, Memory> sum;

  struct AddUp {};
  struct Write {};

  KOKKOS_FUNCTION void operator()(AddUp, std::size_t i, collective::OnlineSum<T>& own) const { own.add(x.data()[i]); }
  KOKKOS_FUNCTION void operator()(Write, std::size_t i) const {
    y.data()[i] = collective::exp_nonpositive(x.data()[i] - sum().max) * sum().inverse();
  }
};

template <class Exec, class T>
struct OnlineOfEachRow {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Memory = typename Exec::scratch_memory_space;

  T const* x;
  T* y;
  std::size_t cols;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    T const* const from = x + static_cast<std::size_t>(team.league_rank()) * cols;
    T* const to = y + static_cast<std::size_t>(team.league_rank()) * cols;
    collective::OnlineSum<T> sum;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, cols), [&](std::size_t i, collective::OnlineSum<T>& own) { own.add(from[i]); },
        collective::OnlineReducer<T, Memory>(sum));
    T const inverse = sum.inverse();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, cols),
                         [&](std::size_t i) { to[i] = collective::exp_nonpositive(from[i] - sum.max) * inverse; });
  }
};

template <class T>
struct OnlineOfEachColumn {
  T const* x;
  T* y;
  std::size_t rows;
  std::size_t cols;

  KOKKOS_FUNCTION void operator()(std::size_t col) const {
    collective::OnlineSum<T> sum;
    for (std::size_t row = 0; row < rows; ++row) sum.add(x[row * cols + col]);
    T const inverse = sum.inverse();
    for (std::size_t row = 0; row < rows; ++row) {
      y[row * cols + col] = collective::exp_nonpositive(x[row * cols + col] - sum.max) * inverse;
    }
  }
};

}  // namespace

struct Online {
  static constexpr VariantInfo info{.name = "online",
                                    .level = Level::range,
                                    .summary = "maximum and sum in one sweep by a reducer of its own, then quotients"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    using Memory = typename Exec::memory_space;

    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input)
        : axis_(input.parameters.axis),
          lanes_(kernels::lanes_for<Exec>(input.x.extent(1))),
          threads_(kernels::team_size(exec, input.parameters.team, lanes_)),
          league_(league_of(axis_ == Axis::rows ? input.x.extent(0) : 0)),
          steps_(collective::MergeOnlineSums<T>::rounding_steps *
                 Softmax::rounding_steps({{input.x.extent(0), input.x.extent(1)}}, input.parameters)),
          sum_("tessera::softmax::online::sum") {}

    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                    OutputOn<Softmax, Exec, T> const& output) const {
      std::size_t const n = input.x.size();
      if (n == 0) return;
      T const* const x = input.x.data();
      T* const y = output.y.data();
      if (axis_ == Axis::all) {
        using All = OnlineOfAll<T, Memory>;
        All const all{input.x, output.y, sum_};
        Kokkos::parallel_reduce("tessera::softmax::online::sum",
                                Kokkos::RangePolicy<Exec, typename All::AddUp>(exec, 0, n), all,
                                collective::OnlineReducer<T, Memory>(sum_));
        Kokkos::parallel_for("tessera::softmax::online::write",
                             Kokkos::RangePolicy<Exec, typename All::Write>(exec, 0, n), all);
      } else if (axis_ == Axis::rows) {
        Kokkos::parallel_for("tessera::softmax::online::rows",
                             Kokkos::TeamPolicy<Exec>(exec, league_, threads_, lanes_),
                             OnlineOfEachRow<Exec, T>{x, y, input.x.extent(1)});
      } else {
        Kokkos::parallel_for("tessera::softmax::online::columns", Kokkos::RangePolicy<Exec>(exec, 0, input.x.extent(1)),
                             OnlineOfEachColumn<T>{x, y, input.x.extent(0), input.x.extent(1)});
      }
    }

    /// As if every element brought a new maximum.
    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    Axis axis_;
    int lanes_;
    int threads_;
    int league_;
    double steps_;
    Kokkos::View<collective::OnlineSum<T>, Memory> sum_;
  };
};

VariantRows online() { return rows<Softmax, Online>(); }

}  // namespace tessera::softmax
