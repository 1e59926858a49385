/// \file
/// A merge sort whose passes read and write whole tiles: a binary search divides the merge of two runs among the teams,
/// and another one divides a team's tile among its lanes. The kernel is kernels/merge_sort.hpp.

#include "../problem.hpp"

#include <tessera/kernels/merge_sort.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::sort {

struct MergePath {
  static constexpr VariantInfo info{.name = "merge_path",
                                    .level = Level::team,
                                    .summary = "merge sort: tiles in scratch, then passes divided by merge paths"};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    kernels::MergeSort<Exec, T, ValueOf<T>> sort;

    Plan(Exec const& exec, InputOn<Sort, Exec, T> const& input)
        : sort(exec, input.keys.extent(0), input.values.extent(0) > 0, input.parameters.tile, input.parameters.team,
               "tessera::sort::merge_path") {}

    void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& in, OutputOn<Sort, Exec, T> const& out) const {
      sort(exec, in.parameters.template order<T>(), in.keys, in.values, out.keys, out.values);
    }
  };
};

VariantRows merge_path() { return rows<Sort, MergePath>(); }

}  // namespace tessera::sort
