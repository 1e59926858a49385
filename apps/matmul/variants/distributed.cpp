/// \file
/// On several ranks, in a grid: each rank has a block of a, of b and of c. It adds up its block of c from panels along
/// k: ranks in a row of the grid send each other panels of a, ranks in a column send panels of b
/// (ranks/panel_broadcast.hpp, SUMMA). While one pair of panels is multiplied (kernels/gemm.hpp), the next pair is in
/// flight.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "../problem.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/ranks/panel_broadcast.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed",
      .level = Level::ranks,
      .summary = "blocks on a grid of ranks, panels of a and b broadcast along its rows and columns"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input, ranks::Part const& part)
        : grid_(Matmul::grid(part.input, input.parameters, part.ranks.count())),
          panels_(exec, part.ranks, grid_, part.input[0][0], part.input[1][1], inner(part), most_columns, label),
          moved_((static_cast<double>(part.input[0][0]) * (grid_.across - 1) +
                  static_cast<double>(part.input[1][1]) * (grid_.down - 1)) *
                 static_cast<double>(part.input[0][1]) * sizeof(T)) {
      std::size_t const m = input.a.extent(0);
      std::size_t const n = input.b.extent(1);
      std::int64_t const team = First::team_if_open(input.parameters.team);
      for (ranks::Block const& panel : panels_.panels()) {
        if (!first_) {
          first_.emplace(exec, m, n, panel.size(), team, label);
        } else {
          further_.try_emplace(panel.size(), exec, m, n, panel.size(), team, label);
        }
      }
    }

    void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& input, OutputOn<Matmul, Exec, T> const& output) {
      if (!first_) return Kokkos::deep_copy(exec, output.c, T(0));  // k is 0
      panels_(exec, input.a.data(), input.b.data(), [&](std::size_t p, auto const& a, auto const& b) {
        if (p == 0) {
          (*first_)(exec, a, b, output.c);
        } else {
          further_.at(a.extent(1))(exec, a, b, output.c);
        }
      });
    }

    /// Counts a panel's product, and the additions of panels.
    [[nodiscard]] double rounding_steps() const {
      double longest = first_ ? first_->rounding_steps() : 0;
      for (auto const& [width, product] : further_) longest = std::max(longest, product.rounding_steps());
      return longest + static_cast<double>(panels_.panels().size());
    }
    /// Returns the grid, the panels, and how much all ranks together send.
    [[nodiscard]] std::string note() const {
      if (grid_ == ranks::Grid{1, 1}) return {};
      char text[96];
      std::snprintf(text, sizeof text, "%d x %d ranks, %zu panels, %.3g MB sent", grid_.down, grid_.across,
                    panels_.panels().size(), moved_ / 1e6);
      return text;
    }

   private:
    // No panels if c is empty: k may be 2^50 if there is no row or no column.
    [[nodiscard]] static std::size_t inner(ranks::Part const& part) {
      return part.input[0][0] == 0 || part.input[1][1] == 0 ? 0 : part.input[0][1];
    }

    using First = kernels::Gemm<Exec, T>;
    using Further = kernels::Gemm<Exec, T, kernels::AddedProduct>;
    static constexpr std::size_t most_columns = 512;  // per panel; c is read and written once per panel
    static constexpr char const* label = "tessera::matmul::distributed::product";

    ranks::Grid grid_;
    ranks::PanelBroadcast<Exec, T> panels_;
    double moved_;  // bytes that all ranks send
    std::optional<First> first_;
    std::map<std::size_t, Further> further_;  // by the panel's width
  };
};

VariantRows distributed() { return rows<Matmul, Distributed>(); }

}  // namespace tessera::matmul
