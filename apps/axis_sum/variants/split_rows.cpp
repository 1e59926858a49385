/// \file
/// Several teams a row: each row is cut into as many chunks as it takes to fill the machine, and the last team of a row
/// folds the row's partial sums, in their order. For few, very long rows; with many rows it is team_per_row.

#include "../problem.hpp"
#include "../team_rows.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

struct SplitRows {
  static constexpr VariantInfo info{.name = "split_rows",
                                    .level = Level::device,
                                    .summary = "several teams a row; a row's last team folds its partial sums"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Kernel = TeamRows<Exec, T>;

    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input) {
      needs_axis(input.parameters, 1, info.name);
      std::size_t const rows = input.a.extent(0);
      std::size_t const cols = input.a.extent(1);
      threads_ = Kernel::threads_for(exec, input.parameters.team, cols);
      std::size_t const teams = kernels::teams_that_fill(exec, threads_ * Kernel::vector_length);
      chunks_ = kernels::split(cols, static_cast<std::size_t>(threads_) * Kernel::part,
                               rows == 0 ? 1 : tiles_of(teams, rows));
      if (chunks_.count > 1) {
        partial_ = Partial(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::axis_sum::split_rows::partial"),
                           rows * chunks_.count);
        finished_ = Counters("tessera::axis_sum::split_rows::finished", rows);
      }
    }

    void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& input,
                    OutputOn<AxisSum, Exec, T> const& output) const {
      Kernel const kernel{input.a.data(),  accumulators_of(output.out), input.a.extent(0), chunks_, partial_.data(),
                          finished_.data()};
      kernel.enqueue(exec, "tessera::axis_sum::split_rows::sum", threads_);
    }

    [[nodiscard]] double rounding_steps() const { return Kernel::rounding_steps(chunks_, threads_); }
    [[nodiscard]] std::string note() const {
      return std::to_string(chunks_.count) + (chunks_.count == 1 ? " chunk a row" : " chunks a row");
    }

   private:
    using Partial = Kokkos::View<typename Kernel::Sum*, typename Exec::memory_space>;
    using Counters = Kokkos::View<std::uint32_t*, typename Exec::memory_space>;

    int threads_ = 1;
    kernels::Chunks chunks_;
    Partial partial_;
    Counters finished_;
  };
};

VariantRows split_rows() { return rows<AxisSum, SplitRows>(); }

}  // namespace tessera::axis_sum
