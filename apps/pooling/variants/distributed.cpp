/// \file
/// On several ranks: each rank folds the windows of its own block while it receives the last elements of the previous
/// ranks; then it folds the windows of its border, which reach back to the received elements. The kernel is
/// kernels/pooling.hpp.
///
/// Example, 2 ranks, sum, window 3: 3 1 4 | 1 5 -> 3 4 8 | 1 6; then the strip 1 4 1 5 gives the last two outputs, 6
/// 10.

#include <algorithm>
#include <utility>
#include <variant>

#include "../problem.hpp"

#include <tessera/kernels/pooling.hpp>
#include <tessera/ranks/border.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::pooling {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "one block per rank, the elements before it from other ranks"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Pooling, Exec, T> const& input, ranks::Part const& part)
        : border_(exec, part.ranks, part.input[0][0], Pooling::reach(part.input, input.parameters), 1, label),
          folds_(chosen(exec, input, border_.strip_rows())),
          divisions_(Pooling::roundings_of_mean(input.parameters,
                                                static_cast<double>(Pooling::terms(part.input, input.parameters)))) {}

    void operator()(Exec const& exec, InputOn<Pooling, Exec, T> const& input,
                    OutputOn<Pooling, Exec, T> const& output) const {
      std::visit(
          [&](auto const& folds) {
            border_.begin(exec);
            folds.first(exec, input.a, output.out);
            border_.exchange(input.a.data());
            folds.second(border_.side(), border_.in(), border_.out());
            border_.keep(exec, output.out.data());
          },
          folds_);
    }

    [[nodiscard]] double rounding_steps() const {
      return divisions_ + std::visit(
                              [](auto const& folds) {
                                return std::max(folds.first.rounding_steps(), folds.second.rounding_steps());
                              },
                              folds_);
    }

   private:
    using Sum = kernels::WindowFold<Exec, T, collective::Sum<T>>;
    using Max = kernels::WindowFold<Exec, T, collective::Max<T>>;
    // One fold for the block, and one for the strip.
    using Folds = std::variant<std::pair<Sum, Sum>, std::pair<Max, Max>>;

    [[nodiscard]] static Folds chosen(Exec const& exec, InputOn<Pooling, Exec, T> const& input, std::size_t strip) {
      std::size_t const n = input.a.extent(0);
      auto const window = static_cast<std::size_t>(input.parameters.window);
      if (input.parameters.op == PoolingOp::max) {
        return std::pair(Max(exec, n, window, false, label), Max(exec, strip, window, false, label));
      }
      bool const mean = input.parameters.op == PoolingOp::mean;
      return std::pair(Sum(exec, n, window, mean, label), Sum(exec, strip, window, mean, label));
    }

    static constexpr char const* label = "tessera::pooling::distributed";

    ranks::Border<Exec, T> border_;
    Folds folds_;
    double divisions_;
  };
};

VariantRows distributed() { return rows<Pooling, Distributed>(); }

}  // namespace tessera::pooling
