// Mistakes inside the kernels of histogram: histogram.txt says which.

#include "planted/histogram.hpp"
#include "../../apps/histogram/kernel_plan.hpp"
#include "planted_rows.hpp"

namespace tessera::histogram {
namespace {

struct PlantedScratch {
  static constexpr VariantInfo info{.name = "scratch_atomic", .summary = "a mistake"};
  template <class Exec, class T>
  using Kernel = planted::ScratchHistogram<Exec, T>;
  template <ExecutionSpace Exec, class T>
  using Plan = KernelPlan<PlantedScratch, Exec, T>;
};

struct PlantedLanes {
  static constexpr VariantInfo info{.name = "lane_private", .summary = "a mistake"};
  template <class Exec, class T>
  using Kernel = planted::LaneHistogram<Exec, T>;
  template <ExecutionSpace Exec, class T>
  using Plan = KernelPlan<PlantedLanes, Exec, T>;
};

TEST(PlantedMistakes, ScratchHistogram) { testing::expect_planted_seen<Histogram, PlantedScratch>({1, 2, 3}); }
TEST(PlantedMistakes, LaneHistogram) { testing::expect_planted_seen<Histogram, PlantedLanes>({1, 2, 3}); }

}  // namespace
}  // namespace tessera::histogram
