// Wrong transposes must be caught, each with one typical mistake of readers of the book. Kernels that use scratch run
// under teams in the worst order, also with the tuning of a GPU.

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "broken_rows.hpp"

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "guarded_array.hpp"

#include "../../apps/transpose/element_tiles.hpp"
#include "../../apps/transpose/problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/transpose.hpp>

namespace tessera::transpose {
namespace {

using testing::expect_caught;

// Destination of element i of the input, right or wrong; below 0: none. These are functors because a private member
// function such as a test body must not contain a device lambda.
template <class T, class Place>
struct Move {
  T const* a;
  T* out;
  std::size_t rows;
  std::size_t cols;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const place = Place{}(i / cols, i % cols, rows, cols);
    if (place < rows * cols) out[place] = a[i];
  }
};

template <class Place>
struct Moves {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& in,
                  OutputOn<Transpose, Exec, T> const& out) const {
    Kokkos::parallel_for("tessera::tests::broken_transpose", over(exec, in.a.size()),
                         Move<T, Place>{in.a.data(), out.out.data(), in.a.extent(0), in.a.extent(1)});
  }
};

struct AsItWas {  // moves nothing to another place
  KOKKOS_FUNCTION std::size_t operator()(std::size_t row, std::size_t col, std::size_t, std::size_t cols) const {
    return row * cols + col;
  }
};
struct ByInputStride {  // rows of the output as long as the input's: right only for squares
  KOKKOS_FUNCTION std::size_t operator()(std::size_t row, std::size_t col, std::size_t, std::size_t cols) const {
    return col * cols + row;
  }
};
struct WholeTilesOnly {  // skips elements that no 4 x 4 tile covers
  KOKKOS_FUNCTION std::size_t operator()(std::size_t row, std::size_t col, std::size_t rows, std::size_t cols) const {
    bool const covered = row < rows / 4 * 4 && col < cols / 4 * 4;
    return covered ? col * rows + row : rows * cols;
  }
};
struct UnturnedTiles {  // 4 x 4 tiles change places, their elements do not
  KOKKOS_FUNCTION std::size_t operator()(std::size_t row, std::size_t col, std::size_t rows, std::size_t) const {
    std::size_t const to_row = col / 4 * 4 + row % 4;
    std::size_t const to_col = row / 4 * 4 + col % 4;
    return to_row * rows + to_col;
  }
};

// scratch_tile on 6 rows of 16 elements, with tiles of 8 by teams of two threads, optionally without the barrier
// between filling and emptying a tile.
template <class Exec, class T, bool waits>
struct TurnTile {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Staged = ScratchView<T*, Exec>;
  static constexpr int edge = 8;
  Array<T const**, typename Exec::memory_space> a;
  Array<T**, typename Exec::memory_space> out;
  std::size_t across;

  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    Staged const staged(team.team_scratch(0), edge * edge);
    std::size_t const row = static_cast<std::size_t>(team.league_rank()) / across * edge;
    std::size_t const col = static_cast<std::size_t>(team.league_rank()) % across * edge;
    for (int i = team.team_rank(); i < edge * edge; i += team.team_size()) {
      std::size_t const y = row + static_cast<std::size_t>(i / edge);
      std::size_t const x = col + static_cast<std::size_t>(i % edge);
      if (y < a.extent(0) && x < a.extent(1)) staged(i) = a(y, x);
    }
    if (waits) team.team_barrier();
    // Begins at the far end, which the other thread filled.
    for (int i = edge * edge - 1 - team.team_rank(); i >= 0; i -= team.team_size()) {
      std::size_t const y = row + static_cast<std::size_t>(i % edge);
      std::size_t const x = col + static_cast<std::size_t>(i / edge);
      if (y < a.extent(0) && x < a.extent(1)) out(x, y) = staged(i % edge * edge + i / edge);
    }
    leave_scratch(team);
  }
};

// Tiles in scratch, perhaps a barrier short.
template <bool waits>
struct TurnsTiles {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& in,
                  OutputOn<Transpose, Exec, T> const& out) const {
    using Turn = TurnTile<Exec, T, waits>;
    std::size_t const across = tiles_of(in.a.extent(1), Turn::edge);
    typename Turn::Policy const policy(exec, league_of(tiles_of(in.a.extent(0), Turn::edge) * across),
                                       exec.concurrency() > 1 ? 2 : 1);
    Kokkos::parallel_for("tessera::tests::broken_transpose",
                         with_scratch(policy, Turn::Staged::shmem_size(Turn::edge * Turn::edge)),
                         Turn{in.a, out.out, across});
  }
};

TEST(BrokenTranspose, TilesAreRightWithTheirBarrier) {
  testing::expect_right<Transpose>(TurnsTiles<true>{}, 10007, {{"rows", std::int64_t{97}}});
}
TEST(BrokenTranspose, NoBarrierBeforeReading) {
  expect_caught<Transpose>(TurnsTiles<false>{}, 10007, {{"rows", std::int64_t{97}}}, "[", 200, testing::Where::hosts);
}

TEST(BrokenTranspose, CopiesOnly) {
  expect_caught<Transpose>(Moves<AsItWas>{}, 96, {{"rows", std::int64_t{6}}}, "[0, 1]");
}
TEST(BrokenTranspose, SwapsStrides) {
  expect_caught<Transpose>(Moves<ByInputStride>{}, 96, {{"rows", std::int64_t{6}}}, "wrong");
}
TEST(BrokenTranspose, MissesPartialTiles) {
  expect_caught<Transpose>(Moves<WholeTilesOnly>{}, 96, {{"rows", std::int64_t{6}}}, "wrong");
}
// This mistake needs whole tiles; otherwise it would write outside the matrix. 8 rows of 12.
TEST(BrokenTranspose, LeavesTilesUnturned) {
  expect_caught<Transpose>(Moves<UnturnedTiles>{}, 96, {{"rows", std::int64_t{8}}}, "wrong");
}

// As TransposeTuning defines them for a GPU, with smaller tiles.
struct LanesTuning {
  static constexpr int blocks_down = 4;
  static constexpr int blocks_across = 8;
  static constexpr int blocks_in_flight = 2;
  static constexpr int band = 3;
  static constexpr bool by_lanes = true;
};

struct ByLanes {
  static constexpr VariantInfo info{.name = "by_lanes", .summary = "what a GPU takes, on every space"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const& exec, InputOn<Transpose, Exec, T> const& in)
        : transpose(exec, in.a.extent(0), in.a.extent(1), in.parameters.team) {}
    void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& in,
                    OutputOn<Transpose, Exec, T> const& out) const {
      transpose(exec, in.a, out.out);
    }
    kernels::Transpose<Exec, T, LanesTuning> transpose;
  };
};

TEST(Transpose, ByLanes) {
  App const app = testing::app_with({rows<Transpose, ByLanes>()});
  for (Shape const& shape : std::vector<Shape>{
           {0, 3}, {1, 1}, {1, 300}, {300, 1}, {7, 5}, {16, 32}, {64, 68}, {65, 64}, {67, 131}, {200, 100}}) {
    testing::expect_passes(app, {shape});
  }
}

// Runs a kernel that moves tiles through `scratch_bytes` of scratch: its league with teams of `threads`, in one
// scratch, in every order of the threads. The matrices and the scratch end at guard pages.
template <class T, class MakeKernel>
void expect_right_in_any_order(std::size_t rows, std::size_t cols, int scratch_bytes,
                               collective::MatrixTiles const& tiles, MakeKernel const& make_kernel) {
  test::GuardedArray<T> of_in(rows * cols);
  test::GuardedArray<T> of_out(rows * cols);
  test::GuardedArray<char> of_scratch(static_cast<std::size_t>(scratch_bytes));
  T* const in = of_in.last(rows * cols);
  for (std::size_t i = 0; i < rows * cols; ++i) in[i] = static_cast<T>(i + 1);
  for (int const threads : {1, 3, 4}) {
    test::AdversarialTeam team(threads);
    for (test::Order const order : test::all_orders) {
      std::string const what = std::to_string(rows) + " x " + std::to_string(cols) + ", " + std::to_string(threads) +
                               " threads, " + name_of(order);
      T* const out = of_out.last(rows * cols);
      char* const scratch = of_scratch.last(static_cast<std::size_t>(scratch_bytes));
      auto const kernel = make_kernel(in, out);
      std::optional<std::string> const error = team.run(order, 1, [&](test::AdversarialTeam::Member const& member) {
        for (int rank = 0; rank < league_of(tiles.count()); ++rank) {
          kernel(test::LeagueMember(member, rank, scratch, scratch_bytes));
        }
      });
      ASSERT_EQ(error.value_or(""), "") << what;
      ASSERT_TRUE(of_out.untouched()) << what;
      ASSERT_TRUE(of_scratch.untouched()) << what;
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < rows * cols; ++i) wrong += out[i % cols * rows + i / cols] != in[i] ? 1 : 0;
      ASSERT_EQ(wrong, 0u) << what;
    }
  }
}

// One block, narrow ones, edges of blocks and tiles with and without whole packs on either side, several tiles, and
// tall tiles of which the last has the height of an ordinary tile.
constexpr std::array<std::array<std::size_t, 2>, 17> extents{{{1, 1},
                                                              {4, 4},
                                                              {3, 2},
                                                              {1, 300},
                                                              {300, 1},
                                                              {7, 5},
                                                              {8, 3},
                                                              {3, 8},
                                                              {16, 32},
                                                              {20, 36},
                                                              {36, 20},
                                                              {64, 68},
                                                              {65, 64},
                                                              {64, 65},
                                                              {67, 131},
                                                              {12, 600},
                                                              {1040, 4}}};

template <class T, class Tuning>
void expect_blocks_in_any_order(bool streaming) {
  using Kernel = kernels::detail::TransposeKernel<test::AdversarialSpace, T, Tuning>;
  for (auto const& [rows, cols] : extents) {
    collective::MatrixTiles const tiles = Kernel::cut(rows, cols);
    auto const bytes = static_cast<int>(sizeof(typename Kernel::Pack)) * Kernel::staged_packs(tiles);
    expect_right_in_any_order<T>(rows, cols, bytes, tiles, [&](T const* in, T* out) {
      return Kernel{.in = in,
                    .out = out,
                    .tiles = tiles,
                    .aligned_in = tiles.cols % Kernel::pack == 0,
                    .aligned_out = tiles.rows % Kernel::pack == 0,
                    .streaming = streaming};
    });
  }
}

TEST(Transpose, BlocksInAnyOrder) {
  using HostTuning = kernels::TransposeTuning<test::AdversarialSpace, float>;
  for (bool const streaming : {false, true}) {
    expect_blocks_in_any_order<float, HostTuning>(streaming);
    expect_blocks_in_any_order<double, HostTuning>(streaming);
  }
  expect_blocks_in_any_order<float, LanesTuning>(false);
  expect_blocks_in_any_order<double, LanesTuning>(false);
}

TEST(Transpose, ElementsInAnyOrder) {
  using Kernel = ElementTiles<test::AdversarialSpace, float>;
  for (auto const& [rows, cols] : extents) {
    collective::MatrixTiles const tiles = collective::fitted_tiles(rows, cols, 32, 32);
    for (int const padding : {0, 1}) {
      int const stride = tiles.tile_cols + padding;
      int const bytes = (static_cast<int>(sizeof(float)) * tiles.tile_rows * stride + 15) / 16 * 16;  // aligned, too
      expect_right_in_any_order<float>(rows, cols, bytes, tiles, [&](float const* in, float* out) {
        return Kernel{.a = in, .out = out, .tiles = tiles, .stride = stride};
      });
    }
  }
}

// Runs the kernel on memory that begins this many elements behind a pack boundary.
template <class Exec>
void expect_right(std::size_t rows, std::size_t cols, std::size_t in_from, std::size_t out_from) {
  Exec const exec;
  using Flat = Kokkos::View<float*, typename Exec::memory_space>;
  Flat const of_in("in", rows * cols + 4);
  Flat const of_out("out", rows * cols + 4);
  auto const in = Kokkos::create_mirror_view(of_in);
  for (std::size_t i = 0; i < in.extent(0); ++i) in(i) = static_cast<float>(i);
  Kokkos::deep_copy(of_in, in);
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, typename Exec::memory_space, Unmanaged>;
  kernels::transpose(exec, Matrix(of_in.data() + in_from, rows, cols), Matrix(of_out.data() + out_from, cols, rows));
  auto const out = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, of_out);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < rows * cols; ++i) {
    wrong += out(out_from + i % cols * rows + i / cols) != static_cast<float>(in_from + i) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0u) << rows << " x " << cols << " from " << in_from << " to " << out_from;
}

// Memory of other owners begins between two packs, on one side or on both.
TEST(Transpose, OffPacks) {
  for (auto const& [in_from, out_from] : {std::array<std::size_t, 2>{1, 0}, {0, 1}, {3, 2}}) {
    expect_right<Kokkos::DefaultExecutionSpace>(68, 132, in_from, out_from);
  }
}

// Rows a power of two apart, for which hosts transpose whole cache lines at once; the next sizes for comparison.
TEST(Transpose, RowsThatShareAPlaceInTheCache) {
  for (std::size_t const rows : {16, 64, 68, 33}) {
    for (std::size_t const cols : {1024, 3072, 1028, 1040}) {
      expect_right<Kokkos::DefaultExecutionSpace>(rows, cols, 0, 0);
    }
  }
}

}  // namespace
}  // namespace tessera::transpose
