/// \file
/// Elements and segment ends form one path, which is cut into equal parts: each team has the same work, whatever the
/// lengths. The kernel is kernels/segmented_sum.hpp.

#include "../problem.hpp"

#include <tessera/kernels/segmented_sum.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::segmented_sum {

struct MergePath {
  static constexpr VariantInfo info{.name = "merge_path",
                                    .level = Level::lane,
                                    .summary = "equal parts of the path of elements and ends, sums joined afterwards"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::SegmentedSum<Exec, T> {
    Plan(Exec const& exec, InputOn<SegmentedSum, Exec, T> const& input)
        : Plan::SegmentedSum(exec, input.in.extent(0), input.offsets.extent(0) - 1, input.parameters.team,
                             "tessera::segmented_sum::merge_path") {}
  };
};

VariantRows merge_path() { return rows<SegmentedSum, MergePath>(); }

}  // namespace tessera::segmented_sum
