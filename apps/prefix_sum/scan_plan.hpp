#pragma once
/// \file
/// From run-time parameters to the type of scan: every variant is written once over Elements, and this chooses them.

#include <cstddef>
#include <string>
#include <variant>

#include "problem.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/scan_elements.hpp>

namespace tessera::prefix_sum {

/// The Plan of a variant that is `Scan<Exec, Elements>`: constructed from (exec, elements, n, parameters), enqueued
/// with (exec, in, out), n elements each.
template <template <class, class> class Scan, ExecutionSpace Exec, class T>
class ScanPlan {
 public:
  ScanPlan(Exec const& exec, InputOn<PrefixSum, Exec, T> const& input)
      : scan_(chosen(exec, input.in.extent(0), input.parameters)) {}

  void operator()(Exec const& exec, InputOn<PrefixSum, Exec, T> const& input,
                  OutputOn<PrefixSum, Exec, T> const& output) {
    if (input.in.extent(0) == 0) return;
    std::visit([&](auto& scan) { scan(exec, input.in.data(), output.out.data()); }, scan_);
  }

  [[nodiscard]] double rounding_steps() const {
    return std::visit([](auto const& scan) { return scan.rounding_steps(); }, scan_);
  }
  [[nodiscard]] std::string note() const {
    return std::visit([](auto const& scan) { return scan.note(); }, scan_);
  }

 private:
  template <class Op>
  using Plain = Scan<Exec, kernels::PlainElements<T, Op>>;
  using Segmented = Scan<Exec, kernels::SegmentedElements<T>>;
  using AnyScan =
      std::variant<Plain<collective::Sum<T>>, Plain<collective::Max<T>>, Plain<collective::Min<T>>, Segmented>;

  [[nodiscard]] static AnyScan chosen(Exec const& exec, std::size_t n, PrefixSum::Parameters const& parameters) {
    auto const plain = [&]<class Op>(Op const& op) -> AnyScan {
      return AnyScan(std::in_place_type<Plain<Op>>, exec, kernels::PlainElements<T, Op>{op, parameters.exclusive}, n,
                     parameters);
    };
    if (parameters.segment != 0) {
      return AnyScan(std::in_place_type<Segmented>, exec,
                     kernels::SegmentedElements<T>{{{parameters.op}}, parameters.exclusive, parameters.segment}, n,
                     parameters);
    }
    switch (parameters.op) {
      case collective::OperatorKind::max: return plain(collective::Max<T>{});
      case collective::OperatorKind::min: return plain(collective::Min<T>{});
      default: return plain(collective::Sum<T>{});
    }
  }

  AnyScan scan_;
};

}  // namespace tessera::prefix_sum
