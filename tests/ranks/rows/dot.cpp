// The rows of dot on several ranks.

#include "../../../apps/dot/problem.hpp"
#include "../rows.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::dot {

App app();

namespace {

TEST(RowsOnRanks, Dot) { testing::expect_right_on_ranks(app(), {{}}); }

// Mistake: a rank's own sum instead of the sum over all ranks.
struct OwnDot {
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Dot, Exec, T> const&, ranks::Part const&) {}
    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.a);
      auto const b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.b);
      T sum = 0;
      for (std::size_t i = 0; i < a.extent(0); ++i) sum += a(i) * b(i);
      Kokkos::deep_copy(exec, output.out, sum);
      exec.fence();
    }
  };
};

TEST(BrokenDot, OwnSumOnly) {
  App const broken = testing::with_rows(app(), {rows<Dot, OwnDot>()});
  bool const caught = !testing::outcome_of(broken, 10007, broken.data.front(), {}, 1).empty();
  EXPECT_EQ(caught, testing::world().count() > 1);
}

}  // namespace
}  // namespace tessera::dot
