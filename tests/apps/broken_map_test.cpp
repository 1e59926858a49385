// Wrong maps must be caught, each with one typical mistake of readers of the book.

#include "broken_rows.hpp"

#include <memory>
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

struct MissesLast {
  static constexpr VariantInfo info{.name = "misses_last", .summary = "leaves the last element out"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) const {
      for_range(exec, 0, in.a.extent(0) - 1,
                Add<T>{in.a.data(), out.out.data(), static_cast<T>(in.parameters.c), 0, 0});
    }
  };
};

struct WritesPastEnd {
  static constexpr VariantInfo info{.name = "writes_past_end", .summary = "has no guard"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) const {
      T const c = static_cast<T>(in.parameters.c);
      for_range(exec, 0, in.a.extent(0), Add<T>{in.a.data(), out.out.data(), c, 0, 0});
      for_range(exec, 0, 1, Add<T>{in.a.data(), out.out.data(), c, 0, in.a.extent(0)});
    }
  };
};

struct WritesBeforeStart {
  static constexpr VariantInfo info{.name = "writes_before_start", .summary = "starts one element early"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) const {
      T const c = static_cast<T>(in.parameters.c);
      for_range(exec, 0, in.a.extent(0), Add<T>{in.a.data(), out.out.data(), c, 0, 0});
      for_range(exec, 0, 1, Add<T>{in.a.data(), out.out.data() - 1, c, 0, 0});
    }
  };
};

struct AddsNothing {
  static constexpr VariantInfo info{.name = "adds_nothing", .summary = "an empty kernel"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const&, InputOn<Map, Exec, T> const&, OutputOn<Map, Exec, T> const&) const {}
  };
};

struct ReadsNeighbour {
  static constexpr VariantInfo info{.name = "reads_neighbour", .summary = "reads one element to the right"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) const {
      T const c = static_cast<T>(in.parameters.c);
      std::size_t const n = in.a.extent(0);
      for_range(exec, 0, n, Add<T>{in.a.data(), out.out.data(), c, 0, 0});
      for_range(exec, n / 2, n / 2 + 1, Add<T>{in.a.data(), out.out.data(), c, 1, 0});
    }
  };
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
  static constexpr VariantInfo info{.name = "broken_tiles", .level = Level::team, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) const {
      using Kernel = BrokenTile<Exec, T>;
      auto const n = static_cast<int>(in.a.extent(0));
      auto const tile = static_cast<int>(in.parameters.tile);
      typename Kernel::Policy const policy(exec, (n + tile - 1) / tile, exec.concurrency() > 1 ? 2 : 1);
      Kokkos::parallel_for("tessera::tests::broken_map", with_scratch(policy, Kernel::Staged::shmem_size(tile)),
                           Kernel{mistake, in.a.data(), out.out.data(), {static_cast<T>(in.parameters.c)}, n, tile});
    }
  };
};

ParameterMap const tiles_of_4{{"tile", std::int64_t{4}}};

// Right until launch `first_wrong`, from then on without the last 256 elements.
template <int first_wrong>
struct LosesItsTail {
  static constexpr VariantInfo info{.name = "loses_its_tail", .summary = "leaves the tail out, but not at first"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) {
      std::size_t const n = in.a.extent(0);
      for_range(exec, 0, launches++ < first_wrong ? n : n - 256,
                Add<T>{in.a.data(), out.out.data(), static_cast<T>(in.parameters.c), 0, 0});
    }
    int launches = 0;
  };
};

// Runs through the driver like a program, at a realistic size. The results of all three rows are compared on the row's
// own space with the results of the row that was right.
TEST(BrokenMap, LosesItsTailAfterARightRow) {
  struct Right : LosesItsTail<1000000> {};
  struct WrongLater : LosesItsTail<1> {};
  struct WrongAtOnce : LosesItsTail<0> {};
  App const app = make_app<Map>({rows<Map, Right>(), rows<Map, WrongLater>(), rows<Map, WrongAtOnce>()});
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

TEST(BrokenMap, MissesLast) { testing::expect_caught<Map, MissesLast>(100, {}, "99"); }
TEST(BrokenMap, WritesPastEnd) { testing::expect_caught<Map, WritesPastEnd>(100, {}, "past the end"); }
TEST(BrokenMap, WritesBeforeStart) { testing::expect_caught<Map, WritesBeforeStart>(100, {}, "before the start"); }
TEST(BrokenMap, AddsNothing) { testing::expect_caught<Map, AddsNothing>(100, {}, "0"); }
// Puzzle P6's 9 elements in tiles of 4.
TEST(BrokenMap, TilesAreRightWithoutAMistake) {
  testing::expect_right<Map, BrokenTiles<TileMistake::none>>(9, tiles_of_4);
}
TEST(BrokenMap, TileWithoutGuard) {
  testing::expect_caught<Map, BrokenTiles<TileMistake::no_guard>>(9, tiles_of_4, "past the end");
}
TEST(BrokenMap, TilesApart) {
  testing::expect_caught<Map, BrokenTiles<TileMistake::offset_by_one>>(9, tiles_of_4, "first at [4]");
}
TEST(BrokenMap, NoBarrierInScratch) {
  testing::expect_caught<Map, BrokenTiles<TileMistake::no_barrier>>(10007, {{"tile", std::int64_t{512}}}, "wrong", 200,
                                                                    testing::Where::hosts);
}
TEST(BrokenMap, ReadsNeighbour) { testing::expect_caught<Map, ReadsNeighbour>(100, {}, "50"); }

}  // namespace
}  // namespace tessera::map
