// Mistakes inside the kernel of dot/lane_reduce: reduce.txt says which.

#include "../../apps/dot/problem.hpp"
#include "planted/reduce.hpp"
#include "planted_rows.hpp"

namespace tessera::dot {
namespace {

struct PlantedSum {
  static constexpr VariantInfo info{.name = "lane_reduce", .summary = "a mistake"};
  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input) : sum_(exec, input.a.extent(0), input.parameters.team) {}
    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      sum_(exec, input.a, input.b, output.out);
    }
    [[nodiscard]] double rounding_steps() const { return sum_.rounding_steps(1); }

   private:
    planted::SinglePassSum<Exec, T, 2, planted::Times<T>> sum_;
  };
};

TEST(PlantedMistakes, SinglePassSum) { testing::expect_planted_seen<Dot, PlantedSum>({1, 2, 3}); }

}  // namespace
}  // namespace tessera::dot
