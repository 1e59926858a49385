// Mistakes inside the kernels of partition: partition.txt says which.

#include "planted/partition.hpp"
#include "../../apps/partition/whole_array_plan.hpp"
#include "planted_rows.hpp"

namespace tessera::partition {
namespace {

struct PlantedReduceThenScatter {
  static constexpr VariantInfo info{.name = "reduce_then_scatter", .summary = "a mistake"};
  template <class Exec, class T, class Predicate>
  using Kernel = planted::ReduceThenScatter<Exec, T, Predicate>;
  template <ExecutionSpace Exec, class T>
  using Plan = WholeArrayPlan<PlantedReduceThenScatter, Exec, T>;
};

struct PlantedLookBack {
  static constexpr VariantInfo info{.name = "look_back", .summary = "a mistake"};
  template <class Exec, class T, class Predicate>
  using Kernel = planted::LookBackPartition<Exec, T, Predicate>;
  template <ExecutionSpace Exec, class T>
  using Plan = WholeArrayPlan<PlantedLookBack, Exec, T>;
};

struct PlantedReversed {
  static constexpr VariantInfo info{.name = "look_back_reversed", .summary = "a mistake"};
  static constexpr bool reversed = true;
  template <class Exec, class T, class Predicate>
  using Kernel = planted::LookBackPartitionReversed<Exec, T, Predicate>;
  template <ExecutionSpace Exec, class T>
  using Plan = WholeArrayPlan<PlantedReversed, Exec, T>;
};

TEST(PlantedMistakes, ReduceThenScatter) { testing::expect_planted_seen<Partition, PlantedReduceThenScatter>({1, 2}); }
TEST(PlantedMistakes, LookBack) { testing::expect_planted_seen<Partition, PlantedLookBack>({3, 4, 5, 6}); }
TEST(PlantedMistakes, Reversed) {
  testing::expect_planted_seen<Partition, PlantedReversed>({3, 4}, {{"right", std::string("reversed")}});
}

}  // namespace
}  // namespace tessera::partition
