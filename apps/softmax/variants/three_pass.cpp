/// \file
/// The plain Kokkos answer, straight from the formula: a reduction to the maximum, one to the sum of exponentials, and
/// a loop that writes. All elements: over ranges; each row: nested in a team; each column: one thread, whose neighbours
/// stand on neighbouring columns.

#include "../problem.hpp"

#include <tessera/kernels/row_tiles.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

namespace {

// Kokkos::Max passes a NaN over. It shows all the same: its exponential is NaN, and so is the sum of them.
template <class T, class Memory>
struct OfAll {
  Array<T const**, Memory> x;
  Array<T**, Memory> y;
  Kokkos::View<T, Memory> max;
  Kokkos::View<T, Memory> sum;

  struct FindMax {};
  struct AddUp {};
  struct Write {};

  KOKKOS_FUNCTION void operator()(FindMax, std::size_t i, T& largest) const {
    T const value = x.data()[i];
    if (value > largest) largest = value;
  }
  KOKKOS_FUNCTION void operator()(AddUp, std::size_t i, T& total) const { total += Kokkos::exp(x.data()[i] - max()); }
  KOKKOS_FUNCTION void operator()(Write, std::size_t i) const {
    y.data()[i] = Kokkos::exp(x.data()[i] - max()) / sum();
  }
};

template <class Exec, class T>
struct OfEachRow {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;

  T const* x;
  T* y;
  std::size_t cols;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    T const* const from = x + static_cast<std::size_t>(team.league_rank()) * cols;
    T* const to = y + static_cast<std::size_t>(team.league_rank()) * cols;
    T max;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, cols),
        [&](std::size_t i, T& largest) {
          if (from[i] > largest) largest = from[i];
        },
        Kokkos::Max<T>(max));
    T sum;
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, cols), [&](std::size_t i, T& total) { total += Kokkos::exp(from[i] - max); },
        sum);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, cols),
                         [&](std::size_t i) { to[i] = Kokkos::exp(from[i] - max) / sum; });
  }
};

template <class T>
struct OfEachColumn {
  T const* x;
  T* y;
  std::size_t rows;
  std::size_t cols;

  KOKKOS_FUNCTION void operator()(std::size_t col) const {
    T max = x[col];
    for (std::size_t row = 1; row < rows; ++row) {
      T const value = x[row * cols + col];
      if (value > max) max = value;
    }
    T sum = 0;
    for (std::size_t row = 0; row < rows; ++row) sum += Kokkos::exp(x[row * cols + col] - max);
    for (std::size_t row = 0; row < rows; ++row) y[row * cols + col] = Kokkos::exp(x[row * cols + col] - max) / sum;
  }
};

}  // namespace

struct ThreePass {
  static constexpr VariantInfo info{.name = "three_pass",
                                    .level = Level::range,
                                    .summary = "maximum, sum, quotients: three sweeps of plain Kokkos, the baseline"};

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
          max_("tessera::softmax::three_pass::max"),
          sum_("tessera::softmax::three_pass::sum") {}

    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                    OutputOn<Softmax, Exec, T> const& output) const {
      std::size_t const n = input.x.size();
      if (n == 0) return;
      T const* const x = input.x.data();
      T* const y = output.y.data();
      if (axis_ == Axis::all) {
        using All = OfAll<T, Memory>;
        All const all{input.x, output.y, max_, sum_};
        Kokkos::parallel_reduce("tessera::softmax::three_pass::max",
                                Kokkos::RangePolicy<Exec, typename All::FindMax>(exec, 0, n), all,
                                Kokkos::Max<T, Memory>(max_));
        Kokkos::parallel_reduce("tessera::softmax::three_pass::sum",
                                Kokkos::RangePolicy<Exec, typename All::AddUp>(exec, 0, n), all,
                                Kokkos::Sum<T, Memory>(sum_));
        Kokkos::parallel_for("tessera::softmax::three_pass::write",
                             Kokkos::RangePolicy<Exec, typename All::Write>(exec, 0, n), all);
      } else if (axis_ == Axis::rows) {
        Kokkos::parallel_for("tessera::softmax::three_pass::rows",
                             Kokkos::TeamPolicy<Exec>(exec, league_, threads_, lanes_),
                             OfEachRow<Exec, T>{x, y, input.x.extent(1)});
      } else {
        Kokkos::parallel_for("tessera::softmax::three_pass::columns",
                             Kokkos::RangePolicy<Exec>(exec, 0, input.x.extent(1)),
                             OfEachColumn<T>{x, y, input.x.extent(0), input.x.extent(1)});
      }
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
