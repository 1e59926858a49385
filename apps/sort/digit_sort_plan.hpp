#pragma once
/// \file
/// The Plan of a variant around a kernel of kernels/sort.hpp, without or with values.

#include <cstddef>
#include <optional>
#include <string>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::sort {

/// \tparam Keys, Pairs the kernel without and with values
template <class Variant, ExecutionSpace Exec, class T, class Keys, class Pairs>
class DigitSortPlan {
 public:
  DigitSortPlan(Exec const& exec, InputOn<Sort, Exec, T> const& input) {
    Parameters const& parameters = input.parameters;
    if (parameters.tile != 0 || parameters.team != 0) {
      throw Skip("--tile or --team (tiles and teams are cut for registers, at compile time)");
    }
    typename Keys::Order const order{.descending = parameters.descending,
                                     .begin_bit = static_cast<int>(parameters.begin_bit),
                                     .end_bit = static_cast<int>(parameters.end_bit)};
    std::string const label = "tessera::sort::" + std::string(Variant::info.name);
    std::size_t const n = input.keys.extent(0);
    if (input.values.extent(0) > 0) {
      pairs_.emplace(exec, n, order, label);
    } else {
      keys_.emplace(exec, n, order, label);
    }
  }

  void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& in, OutputOn<Sort, Exec, T> const& out) {
    if (pairs_) {
      (*pairs_)(exec, in.keys, in.values, out.keys, out.values);
    } else {
      (*keys_)(exec, in.keys, out.keys);
    }
  }

  [[nodiscard]] std::string note() const { return pairs_ ? pairs_->note() : keys_->note(); }

  /// What the passes read and write.
  [[nodiscard]] Prediction prediction() const { return {.bytes = pairs_ ? pairs_->traffic() : keys_->traffic()}; }

 private:
  std::optional<Keys> keys_;
  std::optional<Pairs> pairs_;
};

}  // namespace tessera::sort
