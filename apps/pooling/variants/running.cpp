/// \file
/// Every thread makes a run of consecutive outputs and folds the elements that their windows share only once. It reads
/// straight from memory: the elements before its run are in the cache, because the previous thread reads them as its
/// own. Nothing is subtracted. The kernel is kernels/pooling.hpp.

#include <variant>

#include "../problem.hpp"

#include <tessera/kernels/pooling.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::pooling {

struct Running {
  static constexpr VariantInfo info{
      .name = "running", .level = Level::range, .summary = "runs of outputs that share the core of their windows"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Pooling, Exec, T> const& input)
        : fold_(chosen(exec, input)),
          divisions_(Pooling::roundings_of_mean(
              input.parameters, static_cast<double>(finish_of<T>(input.a.extent(0), input.parameters).window))) {}

    void operator()(Exec const& exec, InputOn<Pooling, Exec, T> const& input,
                    OutputOn<Pooling, Exec, T> const& output) const {
      std::visit([&](auto const& fold) { fold(exec, input.a, output.out); }, fold_);
    }

    [[nodiscard]] double rounding_steps() const {
      return divisions_ + std::visit([](auto const& fold) { return fold.rounding_steps(); }, fold_);
    }

   private:
    using Sum = kernels::WindowFold<Exec, T, collective::Sum<T>>;
    using Max = kernels::WindowFold<Exec, T, collective::Max<T>>;

    [[nodiscard]] static std::variant<Sum, Max> chosen(Exec const& exec, InputOn<Pooling, Exec, T> const& input) {
      std::size_t const n = input.a.extent(0);
      auto const window = static_cast<std::size_t>(input.parameters.window);
      if (input.parameters.op == PoolingOp::max) return Max(exec, n, window, false, label);
      return Sum(exec, n, window, input.parameters.op == PoolingOp::mean, label);
    }

    static constexpr char const* label = "tessera::pooling::running";

    std::variant<Sum, Max> fold_;
    double divisions_;
  };
};

VariantRows running() { return rows<Pooling, Running>(); }

}  // namespace tessera::pooling
