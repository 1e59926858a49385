#pragma once
/// \file
/// The Plan of a variant around a kernel of kernels/sort.hpp, without or with values of both widths.

#include <cstddef>
#include <optional>
#include <string>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::sort {

template <class Variant, ExecutionSpace Exec, class T, template <ExecutionSpace, class...> class Kernel>
class DigitSortPlan {
 public:
  DigitSortPlan(Exec const& exec, InputOn<Sort, Exec, T> const& input) {
    Parameters const& parameters = input.parameters;
    if (parameters.tile != 0 || parameters.team != 0) {
      throw Skip("--tile or --team (tiles and teams are cut for registers, at compile time)");
    }
    typename Kernel<Exec, T>::Order const order{.descending = parameters.descending,
                                                .begin_bit = static_cast<int>(parameters.begin_bit),
                                                .end_bit = static_cast<int>(parameters.end_bit)};
    std::string const label = "tessera::sort::" + std::string(Variant::info.name);
    std::size_t const n = input.keys.extent(0);
    if (input.values.extent(0) > 0) {
      pairs_.emplace(exec, n, order, label);
    } else if (input.other_values.extent(0) > 0) {
      other_pairs_.emplace(exec, n, order, label);
    } else {
      keys_.emplace(exec, n, order, label);
    }
  }

  void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& in, OutputOn<Sort, Exec, T> const& out) {
    if (pairs_) {
      (*pairs_)(exec, in.keys, in.values, out.keys, out.values);
    } else if (other_pairs_) {
      (*other_pairs_)(exec, in.keys, in.other_values, out.keys, out.other_values);
    } else {
      (*keys_)(exec, in.keys, out.keys);
    }
  }

  [[nodiscard]] std::string note() const {
    return of_kernel([](auto const& kernel) { return kernel.note(); });
  }

  /// What the passes read and write.
  [[nodiscard]] Prediction prediction() const {
    return {.bytes = of_kernel([](auto const& kernel) { return kernel.traffic(); })};
  }

 private:
  template <class Body>
  [[nodiscard]] auto of_kernel(Body const& body) const {
    if (pairs_) return body(*pairs_);
    return other_pairs_ ? body(*other_pairs_) : body(*keys_);
  }

  std::optional<Kernel<Exec, T>> keys_;
  std::optional<Kernel<Exec, T, ValueOf<T>>> pairs_;
  std::optional<Kernel<Exec, T, OtherValueOf<T>>> other_pairs_;
};

}  // namespace tessera::sort
