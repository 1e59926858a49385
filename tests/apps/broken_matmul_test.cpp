// Wrong products must be caught, each with one typical mistake of readers of the book. GPU-only kernels run under teams
// that run their threads in the worst order.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "broken_rows.hpp"

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "emulated_copies.hpp"
#include "guarded_array.hpp"

#include "../../apps/matmul/async_product.hpp"
#include "../../apps/matmul/half_product.hpp"
#include "../../apps/matmul/overlapped_product.hpp"
#include "../../apps/matmul/problem.hpp"
#include "../../apps/matmul/tf32_plan.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>

namespace tessera::matmul {
App app();

namespace {

constexpr std::int64_t tile = 8;

// The matrices as pointers and extents, with elements converted to accumulators: integers are unsigned and wrap.
template <class Sum>
struct Operands {
  Sum const* a;
  Sum const* b;
  Sum* c;
  std::size_t m;
  std::size_t n;
  std::size_t k;
};

template <class T, class Memory>
[[nodiscard]] Operands<Accumulator<T>> operands(Matmul::Input<T, Memory> const& input,
                                                Matmul::Output<T, Memory> const& output) {
  using Sum = Accumulator<T>;
  return {.a = reinterpret_cast<Sum const*>(input.a.data()),
          .b = reinterpret_cast<Sum const*>(input.b.data()),
          .c = reinterpret_cast<Sum*>(output.c.data()),
          .m = input.a.extent(0),
          .n = input.b.extent(1),
          .k = input.a.extent(1)};
}

template <class T>
struct Matrices : Operands<Accumulator<T>> {
  using Sum = Accumulator<T>;

  // Sum of products `begin` to `end` of an element; never reads outside the matrices.
  KOKKOS_FUNCTION Sum dot(std::size_t row, std::size_t col, std::size_t begin, std::size_t end) const {
    Sum sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += this->a[(row * this->k + i) % (this->m * this->k)] * this->b[(i * this->n + col) % (this->k * this->n)];
    }
    return sum;
  }
};

// Each mistake is a functor of (matrices, row, col), called for every element of a grid that it chooses.
template <class T, class Mistake>
struct Kernel {
  Matrices<T> of;
  std::size_t across;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { Mistake::element(of, i / across, i % across); }
};

struct WholeGrid {
  template <class M>
  static std::size_t down(M const& of) {
    return of.m;
  }
  template <class M>
  static std::size_t across(M const& of) {
    return of.n;
  }
};

template <class Mistake>
struct Broken {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& in, OutputOn<Matmul, Exec, T> const& out) const {
    Matrices<T> const of{operands(in, out)};
    Kernel<T, Mistake> const kernel{of, Mistake::across(of)};
    Kokkos::parallel_for("tessera::tests::broken_matmul",
                         Kokkos::RangePolicy<Exec>(exec, 0, Mistake::down(of) * Mistake::across(of)), kernel);
  }
};

// The last tile along k has the full width and reads on into the next row.
struct UnmaskedTile : WholeGrid {
  static constexpr std::string_view name = "unmasked_tile";
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    of.c[row * of.n + col] = of.dot(row, col, 0, (of.k + tile - 1) / tile * tile);
  }
};

// The last tile along k is missing.
struct DroppedTile : WholeGrid {
  static constexpr std::string_view name = "dropped_tile";
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    of.c[row * of.n + col] = of.dot(row, col, 0, of.k / tile * tile);
  }
};

// Columns and rows of the grid are exchanged, but guarded, so that a wide matrix stays incomplete.
struct SwappedAxes {
  static constexpr std::string_view name = "swapped_axes";
  template <class M>
  static std::size_t down(M const& of) {
    return of.n;
  }
  template <class M>
  static std::size_t across(M const& of) {
    return of.m;
  }
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    if (row < of.m && col < of.n) of.c[row * of.n + col] = of.dot(row, col, 0, of.k);
  }
};

// Adds to the old output.
struct NotZeroed : WholeGrid {
  static constexpr std::string_view name = "not_zeroed";
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    of.c[row * of.n + col] += of.dot(row, col, 0, of.k);
  }
};

// Each tile along k overwrites the sums of the previous tiles.
struct LastTileOnly : WholeGrid {
  static constexpr std::string_view name = "last_tile_only";
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    of.c[row * of.n + col] = of.dot(row, col, (of.k - 1) / tile * tile, of.k);
  }
};

// Reads b as column-major, which stays in bounds if the matrices are square.
struct TransposedFactor : WholeGrid {
  static constexpr std::string_view name = "transposed_factor";
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    typename M::Sum sum = 0;
    for (std::size_t i = 0; i < of.k; ++i) sum += of.a[row * of.k + i] * of.b[col * of.k + i];
    of.c[row * of.n + col] = sum;
  }
};

// Stores a whole tile where the matrix has only part of one.
struct WritesPastEnd {
  static constexpr std::string_view name = "writes_past_end";
  template <class M>
  static std::size_t down(M const& of) {
    return of.m + 1;
  }
  template <class M>
  static std::size_t across(M const& of) {
    return of.n;
  }
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    if (row < of.m || col < 4) of.c[row * of.n + col] = of.dot(row, col, 0, of.k);
  }
};

template <class Mistake>
void expect_caught(std::size_t size, ParameterMap const& given, std::string const& message) {
  testing::expect_caught<Matmul>(Broken<Mistake>{}, size, given, message);
}

constexpr std::size_t cube_of_19 = 19 * 19 * 19;
ParameterMap const wide{{"m", std::int64_t{7}}, {"n", std::int64_t{30}}};

TEST(BrokenMatmul, UnmaskedTile) { expect_caught<UnmaskedTile>(cube_of_19, {}, "[0] = [0, 0]"); }
TEST(BrokenMatmul, DroppedTile) { expect_caught<DroppedTile>(cube_of_19, {}, "[0] = [0, 0]"); }
TEST(BrokenMatmul, SwappedAxes) { expect_caught<SwappedAxes>(7 * 30 * 11, wide, "[7] = [0, 7]"); }
TEST(BrokenMatmul, NotZeroed) { expect_caught<NotZeroed>(cube_of_19, {}, "[0] = [0, 0]"); }
TEST(BrokenMatmul, LastTileOnly) { expect_caught<LastTileOnly>(cube_of_19, {}, "[0] = [0, 0]"); }
TEST(BrokenMatmul, TransposedFactor) { expect_caught<TransposedFactor>(cube_of_19, {}, "[0] = [0, 0]"); }
TEST(BrokenMatmul, WritesPastEnd) { expect_caught<WritesPastEnd>(7 * 30 * 11, wide, "past the end"); }

enum class TileMistake {
  none,
  no_barrier_after_load,     // elements that the other thread loads are multiplied too early
  no_barrier_before_reload,  // a tile is loaded while the other thread still multiplies it
};

// `tiled` with tiles of 8 by teams of two threads.
template <class Exec, class T>
struct BrokenTile {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Sum = Accumulator<T>;
  using Staged = ScratchView<Sum*, Exec>;
  static constexpr int edge = static_cast<int>(tile);
  TileMistake mistake;
  Matrices<T> of;
  std::size_t across;

  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    Staged const a(team.team_scratch(0), edge * edge);
    Staged const b(team.team_scratch(0), edge * edge);
    std::size_t const row = static_cast<std::size_t>(team.league_rank()) / across * edge;
    std::size_t const col = static_cast<std::size_t>(team.league_rank()) % across * edge;
    Sum sums[edge * edge] = {};
    for (std::size_t k = 0; k < of.k; k += edge) {
      for (int i = team.team_rank(); i < edge * edge; i += team.team_size()) {
        std::size_t const y = static_cast<std::size_t>(i / edge);
        std::size_t const x = static_cast<std::size_t>(i % edge);
        a(i) = row + y < of.m && k + x < of.k ? of.a[(row + y) * of.k + k + x] : Sum(0);
        b(i) = k + y < of.k && col + x < of.n ? of.b[(k + y) * of.n + col + x] : Sum(0);
      }
      if (mistake != TileMistake::no_barrier_after_load) team.team_barrier();
      for (int i = team.team_rank(); i < edge * edge; i += team.team_size()) {
        for (int x = 0; x < edge; ++x) sums[i] += a(i / edge * edge + x) * b(x * edge + i % edge);
      }
      if (mistake != TileMistake::no_barrier_before_reload) team.team_barrier();
    }
    for (int i = team.team_rank(); i < edge * edge; i += team.team_size()) {
      std::size_t const y = row + static_cast<std::size_t>(i / edge);
      std::size_t const x = col + static_cast<std::size_t>(i % edge);
      if (y < of.m && x < of.n) of.c[y * of.n + x] = sums[i];
    }
    leave_scratch(team);
  }
};

template <TileMistake mistake>
struct BrokenTiles {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& in, OutputOn<Matmul, Exec, T> const& out) const {
    using Tile = BrokenTile<Exec, T>;
    Matrices<T> const of{operands(in, out)};
    std::size_t const across = tiles_of(of.n, Tile::edge);
    typename Tile::Policy const policy(exec, league_of(tiles_of(of.m, Tile::edge) * across),
                                       exec.concurrency() > 1 ? 2 : 1);
    Kokkos::parallel_for("tessera::tests::broken_matmul",
                         with_scratch(policy, 2 * Tile::Staged::shmem_size(Tile::edge * Tile::edge)),
                         Tile{mistake, of, across});
  }
};

constexpr std::size_t cube_of_43 = 43 * 43 * 43;
TEST(BrokenMatmul, TilesAreRightWithoutAMistake) {
  testing::expect_right<Matmul>(BrokenTiles<TileMistake::none>{}, cube_of_43, {});
}
TEST(BrokenMatmul, NoBarrierAfterLoad) {
  testing::expect_caught<Matmul>(BrokenTiles<TileMistake::no_barrier_after_load>{}, cube_of_43, {}, "wrong", 200,
                                 testing::Where::hosts);
}
TEST(BrokenMatmul, NoBarrierBeforeReload) {
  testing::expect_caught<Matmul>(BrokenTiles<TileMistake::no_barrier_before_reload>{}, cube_of_43, {}, "wrong", 200,
                                 testing::Where::hosts);
}

// Runs the league of a tiled kernel with teams of `threads`, in one scratch; the matrices end at guard pages. Returns
// the number of wrong elements of c over all orders of the threads.
template <class Kernel, class T>
std::size_t wrong_elements(int threads, int edge, std::size_t m, std::size_t n, std::size_t k) {
  using Sum = Accumulator<T>;
  test::GuardedArray<T> of_a(m * k + 1);
  test::GuardedArray<T> of_b(k * n + 1);
  test::GuardedArray<T> of_c(m * n + 1);
  T* const a = of_a.last(m * k);
  T* const b = of_b.last(k * n);
  for (std::size_t i = 0; i < m * k; ++i) a[i] = static_cast<T>(i * 7 % 13) - T(5);
  for (std::size_t i = 0; i < k * n; ++i) b[i] = static_cast<T>(i * 5 % 11) - T(4);
  using Const = Array<T const**, Kokkos::HostSpace>;
  test::AdversarialTeam team(threads);
  // It ends at a guard page; the rows of a large team go far beyond the end of a tile.
  std::size_t const bytes = (bytes_of_pairs<T>(Kernel::pairs, edge) + 15) / 16 * 16;
  test::GuardedArray<char> of_scratch(bytes);
  std::size_t wrong = 0;
  for (test::Order const order : test::all_orders) {
    T* const c = of_c.last(m * n);
    std::fill(c, c + m * n, T(-77));
    collective::MatrixTiles const tiles{.rows = m, .cols = n, .tile_rows = edge, .tile_cols = edge};
    Kernel const kernel{Const(a, m, k), Const(b, k, n), Array<T**, Kokkos::HostSpace>(c, m, n), tiles, edge};
    char* const scratch = of_scratch.last(bytes);
    std::fill(scratch, scratch + bytes, static_cast<char>(-1));  // NaN, only once
    std::optional<std::string> const error = team.run(order, 1, [&](test::AdversarialTeam::Member const& member) {
      for (int rank = 0; rank < league_of(tiles.count()); ++rank) {
        kernel(test::LeagueMember(member, rank, scratch, static_cast<int>(bytes)));
      }
    });
    EXPECT_EQ(error.value_or(""), "");
    EXPECT_TRUE(of_c.untouched());
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        Sum sum = 0;
        for (std::size_t l = 0; l < k; ++l) sum += collective::product(a[i * k + l], b[l * n + j]);
        if (c[i * n + j] != static_cast<T>(sum)) ++wrong;
      }
    }
  }
  return wrong;
}

// Extents around the edges of tiles of 5 and of 8: short on every side, one slice, many, and none.
template <class Kernel, class T>
void expect_right() {
  for (int const edge : {1, 5, 8}) {
    for (int const threads : {1, 3, edge == 8 ? 12 : 4}) {
      for (auto const& [m, n, k] : {std::array<std::size_t, 3>{1, 1, 1},
                                    {8, 8, 8},
                                    {9, 7, 17},
                                    {5, 16, 40},
                                    {13, 11, 3},
                                    {3, 19, 33},
                                    {4, 6, 0}}) {
        std::size_t const wrong = wrong_elements<Kernel, T>(threads, edge, m, n, k);
        EXPECT_EQ(wrong, 0u) << m << " x " << n << " x " << k << ", tiles of " << edge << ", teams of " << threads;
      }
    }
  }
}

using ByThread = lane::Emulated<4>;  // eight columns of a tile per lane, two of them inside an 8-wide tile
using test::Arrival;
template <class T>
using Overlapped = OverlappedProduct<test::AdversarialSpace, T, ByThread, 8>;
template <class T, class Copies, int stages = 2>
using Async = AsyncProduct<test::AdversarialSpace, T, ByThread, 8, Copies, stages>;
using Early = test::EmulatedCopies<Arrival::at_once>;
using Late = test::EmulatedCopies<Arrival::at_wait>;

TEST(TiledProducts, OverlapInAnyOrder) {
  expect_right<Overlapped<float>, float>();
  expect_right<Overlapped<double>, double>();
  expect_right<Overlapped<std::int32_t>, std::int32_t>();
}
TEST(TiledProducts, AsyncInAnyOrder) {
  expect_right<Async<float, Early>, float>();
  expect_right<Async<float, Late>, float>();
  expect_right<Async<double, Late>, double>();
  expect_right<Async<std::int32_t, Early>, std::int32_t>();
  expect_right<Async<float, Early, 3>, float>();
  expect_right<Async<float, Late, 3>, float>();
  expect_right<Async<float, collective::HardwareCopies>, float>();
}

// Mistake: waits for one copy group too few.
struct WaitsTooLittle : Late {
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    Late::wait<N + 1>();
  }
};
// Mistake: fills elements outside the matrices with ones instead of zeros.
struct IgnoresTheMask : Late {
  static constexpr float ones[4] = {1, 1, 1, 1};
  template <int Bytes>
  KOKKOS_FUNCTION void copy_async(void* to, void const* from, bool take) const {
    Late::copy_async<Bytes>(to, take ? from : ones, true);
  }
};

TEST(BrokenMatmul, AsyncWaitsTooLittle) {
  EXPECT_GT((wrong_elements<Async<float, WaitsTooLittle>, float>(3, 5, 9, 7, 17)), 0u);
}
TEST(BrokenMatmul, AsyncIgnoresTheMask) {
  EXPECT_GT((wrong_elements<Async<float, IgnoresTheMask>, float>(3, 5, 9, 7, 17)), 0u);
}

// Half represents numbers below 2^-14 exactly, but units that flush denormals read them as 0, which is an error of 100%
// for that element.
TEST(Matmul, SmallHalvesOnUnitsThatFlush) {
  using Kept = FactorRule<Half, false>;
  using Flushed = FactorRule<Half, true>;
  for (float const value : {0x1p-15F, -0x1.8p-20F}) {
    EXPECT_EQ(Kept::fit(value, std::abs(value)), Fit::exactly);
    EXPECT_EQ(Flushed::fit(value, std::abs(value)), Fit::small);
    EXPECT_LE(std::abs(value), Flushed::of_small);
  }
  EXPECT_EQ(Flushed::fit(0x1p-14F, 0x1p-14F), Fit::exactly);
  EXPECT_EQ(Flushed::fit(0.0F, 0.0F), Fit::exactly);
  EXPECT_EQ((FactorRule<BFloat16, true>::fit(0x1p-60F, 0x1p-60F)), Fit::exactly);
}

// The kernel on matrix units with emulated lanes: a tile of 32 x 64 by four threads.
using TensorTile = kernels::Tf32Tile<2, 2, 1, 4, 3, 1>;
template <int Terms, int Width, class Copies = Late>
using Tensor = kernels::detail::Tf32Product<test::AdversarialSpace, lane::Emulated<TensorTile::Unit::lanes>, TensorTile,
                                            Terms, Width, Copies, kernels::PlainProduct>;

// Returns how many elements of c are off by more than `relative` times the sum of their terms' magnitudes, over all
// orders of the threads. The matrices end at guard pages; element(i) is an element's value.
template <class Kernel, class Element>
std::size_t far_elements(std::size_t m, std::size_t n, std::size_t k, double relative, Element const& element) {
  test::GuardedArray<float> of_a(m * k + 4);
  test::GuardedArray<float> of_b(k * n + 4);
  test::GuardedArray<float> of_c(m * n + 4);
  float* const a = of_a.last(m * k);
  float* const b = of_b.last(k * n);
  for (std::size_t i = 0; i < m * k; ++i) a[i] = element(i * 7 + 3);
  for (std::size_t i = 0; i < k * n; ++i) b[i] = element(i * 5 + 1);
  std::size_t far = 0;
  for (test::Order const order : test::all_orders) {
    float* const c = of_c.last(m * n);
    std::fill(c, c + m * n, -77.0F);
    collective::MatrixTiles const tiles{
        .rows = m, .cols = n, .tile_rows = TensorTile::rows, .tile_cols = TensorTile::cols, .band = 2};
    Kernel const kernel{a, b, c, k, tiles, {}};
    test::run_league(kernel, league_of(tiles.count()), TensorTile::threads, order);
    EXPECT_TRUE(of_c.untouched());
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        double magnitude = 0;
        for (std::size_t l = 0; l < k; ++l) {
          double const term = static_cast<double>(a[i * k + l]) * static_cast<double>(b[l * n + j]);
          sum += term;
          magnitude += std::abs(term);
        }
        if (!(std::abs(static_cast<double>(c[i * n + j]) - sum) <= relative * magnitude)) ++far;
      }
    }
  }
  return far;
}

float whole(std::size_t i) { return static_cast<float>(i * 11 % 31) - 15.0F; }
// Values with 24 significant bits.
float odd(std::size_t i) { return std::ldexp(static_cast<float>(0x80'0001U + i * 7'654'321U % 0x7f'ffffU), -24); }
// The bound that tensor_3xtf32 states: 49 u, and one addition for every 16 of k.
constexpr double of_two_terms(std::size_t k) { return (49 + static_cast<double>((k + 15) / 16)) * 0x1p-24; }

// Extents around the edges of tiles: short on every side, one slice, many, and none. Whole numbers of five bits are
// exact.
template <int Terms, int Width>
void expect_right_tensor() {
  for (auto const& [m, n, k] : {std::array<std::size_t, 3>{1, 4, 4},
                                {32, 32, 16},
                                {33, 36, 20},
                                {70, 4, 40},
                                {5, 68, 36},
                                {40, 40, 0},
                                {33, 132, 100}}) {
    using Kernel = Tensor<Terms, Width>;
    EXPECT_EQ((far_elements<Kernel>(m, n, k, 0, whole)), 0u) << m << " x " << n << " x " << k;
    double const relative = Terms == 2 ? of_two_terms(k) : 0x1p-10 + 0x1p-18;
    EXPECT_EQ((far_elements<Kernel>(m, n, k, relative, odd)), 0u) << m << " x " << n << " x " << k;
  }
}
TEST(TensorProducts, OfOneTermInAnyOrder) { expect_right_tensor<1, 4>(); }
TEST(TensorProducts, OfTwoTermsInAnyOrder) { expect_right_tensor<2, 4>(); }
TEST(TensorProducts, OfAnyExtents) {
  for (auto const& [m, n, k] : {std::array<std::size_t, 3>{1, 1, 1}, {33, 35, 19}, {31, 3, 17}}) {
    EXPECT_EQ((far_elements<Tensor<1, 1>>(m, n, k, 0, whole)), 0u) << m << " x " << n << " x " << k;
    EXPECT_EQ((far_elements<Tensor<2, 1, Early>>(m, n, k, of_two_terms(k), odd)), 0u) << m << " x " << n << " x " << k;
  }
}
// The Plans of all four variants, on emulated units and, if the device has them, on matrix units.
template <template <class> class PlanOn>
struct OnUnits {
  static constexpr VariantInfo info{.name = "on_units", .summary = "a product on matrix units"};
  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  class Plan : public PlanOn<Exec> {
   public:
    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input)
        : PlanOn<Exec>(exec, input, "tessera::tests::on_units") {}
  };
};
template <class Exec>
using Tf32 = Tf32Plan<Exec, 1>;
template <class Exec>
using TwoTf32 = Tf32Plan<Exec, 2>;
template <class Exec>
using OfHalf = HalfPlan<Exec, Half>;
template <class Exec>
using OfBFloat16 = HalfPlan<Exec, BFloat16>;

TEST(TensorProducts, OfPlans) {
  App const plans = testing::app_with({rows<Matmul, OnUnits<Tf32>>(), rows<Matmul, OnUnits<TwoTf32>>(),
                                       rows<Matmul, OnUnits<OfHalf>>(), rows<Matmul, OnUnits<OfBFloat16>>()});
  for (DataKind const data : {DataKind::exact, DataKind::random}) {
    for (std::size_t const size : {1, 1000, 1 << 15, 40'000}) {
      auto const problem_case = plans.generate_data(DType::float32, size, 42, data, testing::with_defaults(plans, {}));
      auto const expected = problem_case->reference();
      for (Row const& row : plans.rows) {
        if (row.dtype != DType::float32) continue;
        EXPECT_EQ(testing::run_row(row, *problem_case, expected, 2), "") << size;
      }
    }
  }
}
// Their roof is the unit's peak for their factors, divided by the number of products per product of c.
TEST(TensorProducts, NameTheirUnit) {
  for (VariantInfo const& info : app().variants) {
    Unit const unit = info.name.find("fp16") != info.name.npos   ? Unit::half
                      : info.name.find("bf16") != info.name.npos ? Unit::bfloat16
                      : info.name.find("tf32") != info.name.npos ? Unit::tf32
                                                                 : Unit::multiply_add;
    EXPECT_EQ(info.unit, unit) << info.name;
    EXPECT_EQ(info.unit_products, info.name.find("3xtf32") != info.name.npos ? 3 : 1) << info.name;
  }
}
// Mistake: one term although two are promised; the bound of two terms catches it.
TEST(BrokenMatmul, TensorLosesTheLowTerms) {
  EXPECT_GT((far_elements<Tensor<1, 4>>(33, 36, 20, of_two_terms(20), odd)), 0u);
}
TEST(BrokenMatmul, TensorWaitsTooLittle) {
  EXPECT_GT((far_elements<Tensor<1, 4, WaitsTooLittle>>(33, 36, 20, 0, whole)), 0u);
}
TEST(BrokenMatmul, TensorIgnoresTheMask) {
  EXPECT_GT((far_elements<Tensor<1, 4, IgnoresTheMask>>(33, 36, 20, 0, whole)), 0u);
}

}  // namespace
}  // namespace tessera::matmul
