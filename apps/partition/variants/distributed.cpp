/// \file
/// On several ranks: each rank partitions its block (kernels/partition.hpp) into two runs, the left and the right
/// elements. They go to the ranks that own their places: first all left elements, in the order of the ranks, then all
/// right elements (ranks/runs_to_places.hpp). Traffic 3n, then n to other ranks.
///
/// Example, left is < 5, 2 ranks: 3 7 1 | 8 9 2 -> 3 1 7 | 2 8 9, with 2 and 1 left elements: the second rank's left
/// element goes to place 2, the first rank's right element to place 3. Result: 3 1 2 | 7 8 9.

#include <type_traits>

#include "../runs_on_ranks.hpp"

#include <tessera/kernels/partition.hpp>

namespace tessera::partition {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank partitions its block, then both parts go to their places"};

  // The faster kernel for each kind of device.
  template <class Exec, class T>
  using Split = std::conditional_t<is_gpu<Exec>, kernels::LookBackPartition<Exec, T, LessThanPivot<T>>,
                                   kernels::ReduceThenScatter<Exec, T, LessThanPivot<T>>>;

  template <ExecutionSpace Exec, class T>
  struct Plan : RunsOnRanks<Exec, T, Split<Exec, T>, 2> {
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input, ranks::Part const& part)
        : Plan::RunsOnRanks((require_two_sides(input.parameters), require_kept_order(input.parameters),
                             require_one_segment(input.parameters, part.input[0][0]), exec),
                            input, part, "tessera::partition::distributed") {}
  };
};

VariantRows distributed() { return rows<Partition, Distributed>(); }

}  // namespace tessera::partition
