// Wrong scans: the mistakes of the book's multi-block puzzle and of single-pass scans.

#include "broken_rows.hpp"

#include "../../apps/prefix_sum/problem.hpp"

namespace tessera::prefix_sum {
namespace {

constexpr std::size_t tile = 8;

// Scans tile after tile; `Mistake` says what is added to each.
enum class Mistake { none, previous_tile_only, skips_last_tile, not_shifted };

template <class T>
struct ScanTile {
  T const* in;
  T* out;
  std::size_t n;
  Mistake mistake;

  KOKKOS_FUNCTION void operator()(std::size_t own) const {
    collective::Sum<T> const add;
    std::size_t const begin = own * tile;
    T running = 0;
    // One tile back only, instead of all of them: right for two tiles, wrong from the third on.
    std::size_t const from = mistake == Mistake::previous_tile_only && own > 0 ? begin - tile : 0;
    for (std::size_t i = from; i < begin; ++i) running = add(running, in[i]);
    if (mistake == Mistake::skips_last_tile && begin + tile >= n) return;
    for (std::size_t i = begin; i < begin + tile && i < n; ++i) {
      if (mistake == Mistake::not_shifted) out[i] = running;
      running = add(running, in[i]);
      if (mistake != Mistake::not_shifted) out[i] = running;
    }
  }
};

template <Mistake M>
struct Broken {
  static constexpr VariantInfo info{.name = "broken", .summary = "a scan with one mistake"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<PrefixSum, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<PrefixSum, Exec, T> const& in,
                    OutputOn<PrefixSum, Exec, T> const& out) const {
      std::size_t const n = in.in.extent(0);
      Kokkos::parallel_for("tessera::tests::broken_prefix_sum",
                           Kokkos::RangePolicy<Exec>(exec, 0, (n + tile - 1) / tile),
                           ScanTile<T>{in.in.data(), out.out.data(), n, M});
    }
  };
};

TEST(BrokenPrefixSum, ThePathItselfIsRight) {
  App const app = make_app<PrefixSum>({rows<PrefixSum, Broken<Mistake::none>>()});
  for (Row const& row : app.rows) {
    auto const problem_case = app.generate(row.dtype, 100, 1, testing::with_defaults(app, {}));
    EXPECT_EQ(testing::run_row(row, *problem_case, problem_case->reference(), 2), "");
  }
}
TEST(BrokenPrefixSum, PreviousTileOnly) {
  testing::expect_caught<PrefixSum, Broken<Mistake::previous_tile_only>>(24, {}, "16");
}
TEST(BrokenPrefixSum, LastTileUnwritten) {
  testing::expect_caught<PrefixSum, Broken<Mistake::skips_last_tile>>(20, {}, "16");
}
TEST(BrokenPrefixSum, ExclusiveForInclusive) {
  testing::expect_caught<PrefixSum, Broken<Mistake::not_shifted>>(20, {}, "out");
}
TEST(BrokenPrefixSum, IgnoresSegments) {
  testing::expect_caught<PrefixSum, Broken<Mistake::none>>(24, {{"segment", std::int64_t{10}}}, "10");
}
TEST(BrokenPrefixSum, IgnoresOperator) {
  testing::expect_caught<PrefixSum, Broken<Mistake::none>>(24, {{"op", std::string("max")}}, "out");
}

}  // namespace
}  // namespace tessera::prefix_sum
