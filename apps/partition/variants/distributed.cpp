/// \file
/// On several ranks: each rank partitions its block (kernels/partition.hpp) into two runs, the left and the right
/// elements. They go to the ranks that own their places: first all left elements, in the order of the ranks, then all
/// right elements (ranks/runs_to_places.hpp). Traffic 3n, then n to other ranks.
///
/// Example, left is < 5, 2 ranks: 3 7 1 | 8 9 2 -> 3 1 7 | 2 8 9, with 2 and 1 left elements: the second rank's left
/// element goes to place 2, the first rank's right element to place 3. Result: 3 1 2 | 7 8 9.

#include <cstddef>
#include <string>
#include <type_traits>

#include "../problem.hpp"
#include "../runs_on_ranks.hpp"

#include <tessera/kernels/partition.hpp>
#include <tessera/table/make_app.hpp>

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
  class Plan : public RunsOnRanks<Exec, T, Split<Exec, T>, 2> {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input, ranks::Part const& part)
        : Plan::RunsOnRanks(exec, input, part, length(input.parameters, part), "tessera::partition::distributed") {}

   private:
    [[nodiscard]] static std::size_t length(Parameters const& parameters, ranks::Part const& part) {
      require_kept_order(parameters);
      std::size_t const n = part.input[0][0];
      if (!parameters.is_one_segment(n)) {
        throw Skip("segments of " + std::to_string(parameters.segment) + " (the whole array is partitioned at once)");
      }
      return n;
    }
  };
};

VariantRows distributed() { return rows<Partition, Distributed>(); }

}  // namespace tessera::partition
