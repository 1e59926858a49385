/// \file
/// Every thread makes a run of consecutive outputs and folds the elements that their windows share only once. It reads
/// straight from memory: the elements before its run are in the cache, because the previous thread reads them as its
/// own. Nothing is subtracted. The kernel is kernels/pooling.hpp.

#include "../chosen_fold.hpp"

namespace tessera::pooling {

struct Running {
  static constexpr VariantInfo info{
      .name = "running", .level = Level::range, .summary = "runs of outputs that share the core of their windows"};

  template <ExecutionSpace Exec, class T>
  struct Plan : ChosenFold<Exec, T> {
    Plan(Exec const& exec, InputOn<Pooling, Exec, T> const& input)
        : Plan::ChosenFold(exec, input.a.extent(0), input.a.extent(0), input.parameters, "tessera::pooling::running") {}
  };
};

VariantRows running() { return rows<Pooling, Running>(); }

}  // namespace tessera::pooling
