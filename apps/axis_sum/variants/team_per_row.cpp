/// \file
/// A team sums a row, then the next of its rows: 16-byte accesses with several in flight, lanes, threads, team. For rows
/// that keep a team busy, and enough of them to keep the machine busy.

#include "../problem.hpp"
#include "../team_rows.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

struct TeamPerRow {
  static constexpr VariantInfo info{.name = "team_per_row",
                                    .level = Level::team,
                                    .summary = "a team sums a row with 16-byte accesses, then the next of its rows"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Kernel = TeamRows<Exec, T>;

    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input) {
      needs_axis(input.parameters, 1, info.name);
      std::size_t const cols = input.a.extent(1);
      threads_ = Kernel::threads_for(exec, input.parameters.team, cols);
      chunks_ = kernels::split(cols, Kernel::part, 1);
    }

    void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& input,
                    OutputOn<AxisSum, Exec, T> const& output) const {
      Kernel const kernel{input.a.data(), accumulators_of(output.out), input.a.extent(0), chunks_, nullptr, nullptr};
      kernel.enqueue(exec, "tessera::axis_sum::team_per_row::sum", threads_);
    }

    [[nodiscard]] double rounding_steps() const { return Kernel::rounding_steps(chunks_, threads_); }

   private:
    int threads_ = 1;
    kernels::Chunks chunks_;
  };
};

VariantRows team_per_row() { return rows<AxisSum, TeamPerRow>(); }

}  // namespace tessera::axis_sum
