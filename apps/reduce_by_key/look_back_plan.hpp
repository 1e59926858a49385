#pragma once
/// \file
/// The Plan of a variant around the kernels of kernels/reduce_by_key.hpp, for each mode and operator.

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/kernels/reduce_by_key.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::reduce_by_key {

template <class Variant, ExecutionSpace Exec, class T>
class LookBackPlan {
  using Value = ValueOf<T>;
  template <class Op>
  using Reduce = kernels::ReduceByKey<Exec, Value, Op, T>;
  using Lengths = kernels::RunLengths<Exec, T>;
  using Any = std::variant<Reduce<collective::Sum<Value>>, Reduce<collective::Max<Value>>,
                           Reduce<collective::Min<Value>>, Lengths>;

 public:
  LookBackPlan(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& input)
      : mode_(input.parameters.mode), pass_(chosen(exec, input)) {}

  void operator()(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& input,
                  OutputOn<ReduceByKey, Exec, T> const& output) {
    std::visit(
        [&]<class Chosen>(Chosen& pass) {
          if constexpr (!std::is_same_v<Chosen, Lengths>) {
            pass(exec, input.keys, input.values, output.unique_keys, output.sums, output.count);
          } else if (mode_ == Mode::lengths) {
            pass(exec, input.keys, output.unique_keys, output.lengths, output.count);
          } else {
            pass(exec, input.keys, output.unique_keys, output.count);
          }
        },
        pass_);
  }

  [[nodiscard]] std::vector<WrittenField> outputs() const { return written_fields(mode_); }
  [[nodiscard]] double rounding_steps() const {
    return std::visit([](auto const& pass) { return pass.rounding_steps(); }, pass_);
  }

 private:
  [[nodiscard]] static Any chosen(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& input) {
    std::size_t const n = input.keys.extent(0);
    std::int64_t const team = input.parameters.team;
    std::string const label = "tessera::reduce_by_key::" + std::string(Variant::info.name);
    if (input.parameters.mode != Mode::reduce) {
      return Any(std::in_place_type<Lengths>, exec, n, team, label);
    }
    auto const with = [&]<class Op>(Op const& op) {
      return Any(std::in_place_type<Reduce<Op>>, exec, n, op, team, label);
    };
    switch (input.parameters.op) {
      case collective::OperatorKind::max: return with(collective::Max<Value>{});
      case collective::OperatorKind::min: return with(collective::Min<Value>{});
      default: return with(collective::Sum<Value>{});
    }
  }

  Mode mode_;
  Any pass_;
};

}  // namespace tessera::reduce_by_key
