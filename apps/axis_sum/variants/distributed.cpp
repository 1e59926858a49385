/// \file
/// On several ranks: each rank sums its own rows. Sums of rows (kernels/sum_rows.hpp) need no communication; sums of
/// columns (kernels/sum_columns.hpp) are added over the ranks, and all ranks have the result.

#include <cstddef>
#include <span>
#include <variant>

#include "../problem.hpp"

#include <tessera/kernels/sum_columns.hpp>
#include <tessera/kernels/sum_rows.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank sums its rows; column sums are added over the ranks"};

  template <ExecutionSpace Exec, class T>
    requires(!ShortFloat<T>)  // the sum of a rank would be rounded before it is added
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          further_(input.parameters.axis == 0 ? part.ranks.count() - 1 : 0),
          sum_(chosen(exec, input)),
          own_(unset("tessera::axis_sum::distributed::own"), further_ > 0 ? input.a.extent(1) : 0) {}

    void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& input,
                    OutputOn<AxisSum, Exec, T> const& output) const {
      std::visit([&](auto const& sum) { sum(exec, input.a, output.out); }, sum_);
      if (further_ == 0) return;
      Kokkos::deep_copy(exec, own_, output.out);
      exec.fence("tessera::axis_sum::distributed: own sums");
      ranks_.sum(std::span<T>(own_.data(), own_.size()));
      Kokkos::deep_copy(exec, output.out, own_);
    }

    /// Every further rank adds one rounding.
    [[nodiscard]] double rounding_steps() const {
      return std::visit([](auto const& sum) { return sum.rounding_steps(); }, sum_) + further_;
    }

   private:
    using Rows = kernels::SumRows<Exec, T>;
    using Columns = kernels::SumColumns<Exec, T>;

    [[nodiscard]] static std::variant<Rows, Columns> chosen(Exec const& exec, InputOn<AxisSum, Exec, T> const& input) {
      std::size_t const rows = input.a.extent(0);
      std::size_t const cols = input.a.extent(1);
      char const* const label = "tessera::axis_sum::distributed";
      if (input.parameters.axis == 1) return Rows(exec, rows, cols, input.parameters.team, label);
      return Columns(exec, rows, cols, input.parameters.team, label);
    }

    ranks::Ranks const& ranks_;
    int further_;  // ranks whose sums are added to a rank's own
    std::variant<Rows, Columns> sum_;
    Kokkos::View<T*, Kokkos::HostSpace> own_;
  };
};

VariantRows distributed() { return rows<AxisSum, Distributed>(); }

}  // namespace tessera::axis_sum
