// Wrong maps must be caught, each with one typical mistake of readers of the book.

#include "broken_rows.hpp"

#include <gtest/gtest-spi.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tessera/core/scratch.hpp>
#include <tessera/driver/driver.hpp>
#include <tessera/table/runtime.hpp>

#include "../../apps/map/problem.hpp"

namespace tessera::map {
namespace {

// Kernel bodies are free templates: a private member function such as a test body must not contain a device lambda.
template <class Exec, class Body>
void for_range(Exec const& exec, std::size_t begin, std::size_t end, Body const& body) {
  Kokkos::parallel_for("tessera::tests::broken_map",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, begin, end), body);
}

template <class T>
struct Add {
  T const* a;
  T* out;
  T c;
  std::size_t shift_in;
  std::size_t shift_out;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { out[i + shift_out] = a[i + shift_in] + c; }
};

enum class TileMistake {
  none,
  no_guard,       // a partial last tile is written as a full tile
  offset_by_one,  // each tile begins one element too late
  no_barrier      // elements that another thread stages are read too early
};

// Tiles through scratch, as in the variant `scratch`.
template <class Exec, class T>
struct BrokenTile {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Staged = ScratchView<T*, Exec>;
  TileMistake mistake;
  T const* a;
  T* out;
  AddConstant<T> add;
  int n;
  int tile;
  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    Staged const staged(team.team_scratch(0), tile);
    int const begin = team.league_rank() * (mistake == TileMistake::offset_by_one ? tile + 1 : tile);
    int const count = mistake == TileMistake::no_guard || n - begin > tile ? tile : n - begin;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count),
                         [&](int t) { staged(t) = begin + t < n ? a[begin + t] : T(0); });
    if (mistake != TileMistake::no_barrier) team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int t) {
      int const mirrored = count - 1 - t;
      out[begin + mirrored] = add(staged(mirrored));
    });
    leave_scratch(team);
  }
};

template <TileMistake mistake>
struct BrokenTiles {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) const {
    using Kernel = BrokenTile<Exec, T>;
    auto const n = static_cast<int>(in.a.extent(0));
    auto const tile = static_cast<int>(in.parameters.tile);
    typename Kernel::Policy const policy(exec, (n + tile - 1) / tile, exec.concurrency() > 1 ? 2 : 1);
    Kokkos::parallel_for("tessera::tests::broken_map", with_scratch(policy, Kernel::Staged::shmem_size(tile)),
                         Kernel{mistake, in.a.data(), out.out.data(), {static_cast<T>(in.parameters.c)}, n, tile});
  }
};

ParameterMap const tiles_of_4{{"tile", std::int64_t{4}}};

// Right until launch `first_wrong`, from then on without the last 256 elements.
template <int first_wrong>
struct LosesItsTail {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) {
    std::size_t const n = in.a.extent(0);
    for_range(exec, 0, launches++ < first_wrong ? n : n - 256,
              Add<T>{in.a.data(), out.out.data(), static_cast<T>(in.parameters.c), 0, 0});
  }
  int launches = 0;
};

// Runs through the driver like a program, at a realistic size. The results of all three rows are compared on the row's
// own space with the results of the row that was right.
TEST(BrokenMap, LosesItsTailAfterARightRow) {
  App const app =
      testing::app_with({testing::rows_of<Map>(LosesItsTail<1000000>{}), testing::rows_of<Map>(LosesItsTail<1>{}),
                         testing::rows_of<Map>(LosesItsTail<0>{})});
  for (std::string const& space : enabled_spaces()) {
    std::vector<Status> verdicts;
    std::unique_ptr<Case> problem_case;
    Oracle oracle;
    Verified verified;
    for (Row const& row : app.rows) {
      if (row.space != space || row.dtype != app.rows.front().dtype || !testing::is_wanted(row)) continue;
      if (!problem_case) {
        problem_case = app.generate(row.dtype, testing::late_size(), 42, testing::with_defaults(app, {}));
        oracle.reference = problem_case->reference();
      }
      SamplingOptions const twice{.warmup = 0, .samples = 2, .min_time = 0};
      auto const report = run_row(row, *problem_case, oracle, twice, RowReport{}, [] { return false; }, {}, verified);
      ASSERT_TRUE(report);
      verdicts.push_back(report->status);
    }
    if (verdicts.empty()) continue;
    EXPECT_EQ(verdicts, (std::vector{Status::passed, Status::failed, Status::failed})) << space;
  }
}

// Returns how many rows expect_caught complains about.
template <class Call>
int complaints(Call const& call, std::string const& message) {
  ::testing::TestPartResultArray failures;
  {
    using Reporter = ::testing::ScopedFakeTestPartResultReporter;
    Reporter const reporter(Reporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    testing::expect_caught<Map>(call, 100, {}, message);
  }
  return failures.size();
}

TEST(BrokenMap, OnlyAWrongResultIsCaught) {
  auto const nothing = [](auto const&, auto const&, auto const&) {};
  auto const right = []<class Exec, class T>(Exec const& exec, InputOn<Map, Exec, T> const& in,
                                             OutputOn<Map, Exec, T> const& out) {
    for_range(exec, 0, in.a.extent(0), Add<T>{in.a.data(), out.out.data(), static_cast<T>(in.parameters.c), 0, 0});
  };
  auto const throws = [](auto const&, auto const&, auto const&) { throw std::runtime_error("out of memory"); };
  std::vector<Row> const all = testing::app_with({testing::rows_of<Map>(right)}).rows;
  auto const wanted = std::ranges::count_if(all, [](Row const& row) { return testing::is_wanted(row); });
  EXPECT_EQ(complaints(nothing, "out"), 0);
  EXPECT_EQ(complaints(nothing, "another field"), wanted);
  EXPECT_EQ(complaints(right, ""), wanted);
  EXPECT_EQ(complaints(throws, "out"), wanted);
}

TEST(BrokenMap, MissesLast) {
  // Leaves the last element out.
  testing::expect_caught<Map>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) {
        for_range(exec, 0, in.a.extent(0) - 1,
                  Add<T>{in.a.data(), out.out.data(), static_cast<T>(in.parameters.c), 0, 0});
      },
      100, {}, "99");
}
TEST(BrokenMap, WritesPastEnd) {
  // Has no guard.
  testing::expect_caught<Map>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) {
        T const c = static_cast<T>(in.parameters.c);
        for_range(exec, 0, in.a.extent(0), Add<T>{in.a.data(), out.out.data(), c, 0, 0});
        for_range(exec, 0, 1, Add<T>{in.a.data(), out.out.data(), c, 0, in.a.extent(0)});
      },
      100, {}, "past the end");
}
TEST(BrokenMap, WritesBeforeStart) {
  // Starts one element early.
  testing::expect_caught<Map>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) {
        T const c = static_cast<T>(in.parameters.c);
        for_range(exec, 0, in.a.extent(0), Add<T>{in.a.data(), out.out.data(), c, 0, 0});
        for_range(exec, 0, 1, Add<T>{in.a.data(), out.out.data() - 1, c, 0, 0});
      },
      100, {}, "before the start");
}
TEST(BrokenMap, AddsNothing) {
  // An empty kernel.
  testing::expect_caught<Map>([](auto const&, auto const&, auto const&) {}, 100, {}, "0");
}
// Puzzle P6's 9 elements in tiles of 4.
TEST(BrokenMap, TilesAreRightWithoutAMistake) {
  testing::expect_right<Map>(BrokenTiles<TileMistake::none>{}, 9, tiles_of_4);
}
TEST(BrokenMap, TileWithoutGuard) {
  testing::expect_caught<Map>(BrokenTiles<TileMistake::no_guard>{}, 9, tiles_of_4, "past the end");
}
TEST(BrokenMap, TilesApart) {
  testing::expect_caught<Map>(BrokenTiles<TileMistake::offset_by_one>{}, 9, tiles_of_4, "first at [4]");
}
TEST(BrokenMap, NoBarrierInScratch) {
  testing::expect_caught<Map>(BrokenTiles<TileMistake::no_barrier>{}, 10007, {{"tile", std::int64_t{512}}}, "wrong",
                              200, testing::Where::hosts);
}
TEST(BrokenMap, ReadsNeighbour) {
  // Reads one element to the right.
  testing::expect_caught<Map>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) {
        T const c = static_cast<T>(in.parameters.c);
        std::size_t const n = in.a.extent(0);
        for_range(exec, 0, n, Add<T>{in.a.data(), out.out.data(), c, 0, 0});
        for_range(exec, n / 2, n / 2 + 1, Add<T>{in.a.data(), out.out.data(), c, 1, 0});
      },
      100, {}, "50");
}

}  // namespace
}  // namespace tessera::map
