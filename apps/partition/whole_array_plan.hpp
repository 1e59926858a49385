#pragma once
/// \file
/// The Plan of a kernel that partitions the whole array at once.

#include <string>

#include "predicate.hpp"
#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::partition {

/// The Plan of a variant around a kernel. It keeps the right elements in order, unless the variant has `reversed`; with
/// `left_alone` it writes no right elements.
/// \tparam Kernel constructed from (exec, n, predicate, tile, team, label)
template <class Variant, ExecutionSpace Exec, class T, class Kernel>
class WholeArrayPlan : public Kernel {
 public:
  WholeArrayPlan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
      : Kernel((check(input), exec), input.in.extent(0), LessThanPivot<T>(input.parameters.pivot),
               input.parameters.tile, input.parameters.team, "tessera::partition::" + std::string(Variant::info.name)) {
  }

  void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                  OutputOn<Partition, Exec, T> const& output) {
    if (output.left_count.extent(0) == 0) return;  // no elements, no segments
    Kernel::operator()(exec, input.in, output.values, Kokkos::subview(output.left_count, 0));
  }

 private:
  static void check(InputOn<Partition, Exec, T> const& input) {
    require_two_sides(input.parameters);
    require_one_segment(input.parameters, input.in.extent(0));
    if constexpr (requires { Variant::reversed; }) {
      if (!input.parameters.reversed) throw Skip("--right kept (it writes the right side in the reverse order)");
    } else if constexpr (!requires { Variant::left_alone; }) {
      require_kept_order(input.parameters);
    }
  }
};

}  // namespace tessera::partition
