#pragma once
/// \file
/// From run-time parameters to the type of a scan: every variant is written once, for any ScanElements, and this header
/// chooses the ScanElements.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/collective/operators.hpp>
#include <tessera/kernels/detail/scan/scan_elements.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

template <class T>
using SegmentOp = collective::SegmentedOperator<T, collective::AnyOperator<T>>;

/// One of the scans `Scan<Op>`.
template <template <class> class Scan, class T>
using AnyScan =
    std::variant<Scan<collective::Sum<T>>, Scan<collective::Max<T>>, Scan<collective::Min<T>>, Scan<SegmentOp<T>>>;

/// Returns scan_of(elements), with the ScanElements of these parameters.
template <class T, class ScanOf>
[[nodiscard]] auto with_elements(Parameters const& parameters, ScanOf const& scan_of) {
  bool const exclusive = parameters.exclusive;
  if (parameters.segment != 0) {
    return scan_of(kernels::ScanElements<T, SegmentOp<T>>{{{parameters.op}}, exclusive, parameters.segment});
  }
  switch (parameters.op) {
    case collective::OperatorKind::max: return scan_of(kernels::ScanElements<T, collective::Max<T>>{{}, exclusive});
    case collective::OperatorKind::min: return scan_of(kernels::ScanElements<T, collective::Min<T>>{{}, exclusive});
    default: return scan_of(kernels::ScanElements<T, collective::Sum<T>>{{}, exclusive});
  }
}

/// The Plan of a variant with a member `template <Exec, T, Op> Scan`. The scan is constructed from (exec, n, elements,
/// tile, team, label) and enqueued with (exec, in, out), Views [n]; if it can store the tiles' totals, also with (exec,
/// in, out, totals).
template <class Variant, ExecutionSpace Exec, class T>
class ScanPlan {
  template <class Op>
  using Scan = typename Variant::template Scan<Exec, T, Op>;
  template <class Chosen>
  static constexpr bool has_totals =
      requires(Chosen& scan, Exec const& exec, InputOn<PrefixSum, Exec, T> const& input,
               OutputOn<PrefixSum, Exec, T> const& output) { scan(exec, input.in, output.out, output.totals); };

 public:
  ScanPlan(Exec const& exec, InputOn<PrefixSum, Exec, T> const& input)
      : scan_(chosen(exec, input)), totals_(input.parameters.totals && has_totals<Scan<collective::Sum<T>>>) {}

  void operator()(Exec const& exec, InputOn<PrefixSum, Exec, T> const& input,
                  OutputOn<PrefixSum, Exec, T> const& output) {
    std::visit(
        [&]<class Chosen>(Chosen& scan) {
          if constexpr (has_totals<Chosen>) {
            if (totals_) return scan(exec, input.in, output.out, output.totals);
          }
          scan(exec, input.in, output.out);
        },
        scan_);
  }

  [[nodiscard]] std::vector<WrittenField> outputs() const {
    if (totals_) return {{.field = "out"}, {.field = "totals"}};
    return {{.field = "out"}};
  }

  /// Returns the scan's own count, or the Problem's worst case if the scan has none.
  [[nodiscard]] double rounding_steps() const
    requires requires(Scan<collective::Sum<T>> const& scan) { scan.rounding_steps(); }
  {
    return std::visit([](auto const& scan) { return scan.rounding_steps(); }, scan_);
  }
  [[nodiscard]] std::string note() const
    requires requires(Scan<collective::Sum<T>> const& scan) { scan.note(); }
  {
    return std::visit([](auto const& scan) { return scan.note(); }, scan_);
  }

 private:
  [[nodiscard]] static AnyScan<Scan, T> chosen(Exec const& exec, InputOn<PrefixSum, Exec, T> const& input) {
    auto const& parameters = input.parameters;
    return with_elements<T>(parameters, [&]<class Op>(kernels::ScanElements<T, Op> const& elements) {
      return AnyScan<Scan, T>(std::in_place_type<Scan<Op>>, exec, input.in.extent(0), elements, parameters.tile,
                              parameters.team, "tessera::prefix_sum::" + std::string(Variant::info.name));
    });
  }

  AnyScan<Scan, T> scan_;
  bool totals_;
};

}  // namespace tessera::prefix_sum
