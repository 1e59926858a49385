#pragma once
/// \file
/// The kernel of running and distributed: kernels/pooling.hpp with the operator that the parameters name.

#include <cstddef>
#include <string>
#include <variant>

#include "problem.hpp"

#include <tessera/kernels/pooling.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::pooling {

template <ExecutionSpace Exec, class T>
class ChosenFold {
 public:
  /// \param n elements
  /// \param whole elements of all ranks
  /// \param label name of the variant
  ChosenFold(Exec const& exec, std::size_t n, std::size_t whole, Parameters const& parameters, std::string const& label)
      : fold_(chosen(exec, n, parameters, label)),
        divisions_(Pooling::roundings_of_mean(parameters, static_cast<double>(Pooling::terms({{whole}}, parameters)))) {
  }

  void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T*, Exec> const& out) const {
    std::visit([&](auto const& fold) { fold(exec, a, out); }, fold_);
  }

  [[nodiscard]] double rounding_steps() const {
    return divisions_ + std::visit([](auto const& fold) { return fold.rounding_steps(); }, fold_);
  }

 private:
  using Sum = kernels::WindowFold<Exec, T, collective::Sum<T>>;
  using Max = kernels::WindowFold<Exec, T, collective::Max<T>>;

  [[nodiscard]] static std::variant<Sum, Max> chosen(Exec const& exec, std::size_t n, Parameters const& parameters,
                                                     std::string const& label) {
    auto const window = static_cast<std::size_t>(parameters.window);
    if (parameters.op == PoolingOp::max) return Max(exec, n, window, false, label);
    return Sum(exec, n, window, parameters.op == PoolingOp::mean, label);
  }

  std::variant<Sum, Max> fold_;
  double divisions_;
};

}  // namespace tessera::pooling
