// Wrong measurements must be caught: work that was not done must not count as fast.

#include "broken_rows.hpp"

#include "../../apps/roofline/problem.hpp"

#include <concepts>
#include <set>
#include <string>

#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/measure/roof_kernels.hpp>

namespace tessera::roofline {
App app();

namespace {

// A row that names one field must not be judged by the others, and a row that names none must not be judged by all.
struct NamesTooMuch {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& in,
                  OutputOn<Roofline, Exec, T> const& out) const {
    measure::copy(exec, in.a, out.copied);
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "copied"}, {.field = "triad"}}; }
};

// The kernel of matrix_*; hosts use emulated lanes and units, although the variants themselves are skipped there.
template <class Factor, int Lost>
struct CountsProducts {
  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& in,
                  OutputOn<Roofline, Exec, T> const& out) const {
    if (is_gpu<Exec> && !collective::has_matrix_units(exec)) throw Skip("matrix units");
    measure::matrix_chains<Factor>(exec, out.chains, static_cast<std::int32_t>(in.parameters.iterations) - Lost);
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "chains"}}; }
};

template <class Factor>
class MatrixChains : public ::testing::Test {};
using Factors = ::testing::Types<collective::Tf32, Half, BFloat16>;
TYPED_TEST_SUITE(MatrixChains, Factors);

TYPED_TEST(MatrixChains, CountTheirIterations) {
  for (std::size_t const size : {1, 127, 128, 129, 1001}) {
    testing::expect_right<Roofline>(CountsProducts<TypeParam, 0>{}, size, {{"iterations", std::int64_t{20}}});
  }
  testing::expect_right<Roofline>(CountsProducts<TypeParam, 0>{}, 0, {{"iterations", std::int64_t{20}}});
  testing::expect_right<Roofline>(CountsProducts<TypeParam, 0>{}, 300, {{"iterations", std::int64_t{0}}});
}
TYPED_TEST(MatrixChains, MissAnIteration) {
  testing::expect_caught<Roofline>(CountsProducts<TypeParam, 1>{}, 300, {{"iterations", std::int64_t{20}}}, "chains");
}
TYPED_TEST(MatrixChains, SayTheirOperations) {
  using Unit = collective::MatrixUnit<TypeParam>;
  using Kernel = measure::MatrixChainKernel<Kokkos::DefaultHostExecutionSpace, TypeParam>;
  // A warp's products per iteration, each a multiplication and an addition, divided by its elements.
  double const products = 1.0 * Kernel::chains * Unit::rows * Unit::cols * Unit::depth;
  EXPECT_EQ((measure::matrix_chain_operations<Kokkos::DefaultHostExecutionSpace, TypeParam>),
            2 * products / Kernel::width);
  // The count is kept in a float: the largest start, plus the unit's depth per iteration.
  EXPECT_LE((255.0 + Kernel::most_iterations) * Unit::depth, 0x1p24);
  EXPECT_EQ(name_of(measure::unit_of<TypeParam>), (std::same_as<TypeParam, Half>       ? "half"
                                                   : std::same_as<TypeParam, BFloat16> ? "bfloat16"
                                                                                       : "tf32"));
}

// The roof of each of them is its own measurement.
TEST(MatrixVariants, NameTheirUnit) {
  std::set<Unit> units;
  for (VariantInfo const& info : app().variants) {
    bool const on_unit = info.unit != Unit::multiply_add;
    EXPECT_EQ(info.name.starts_with("matrix_"), on_unit) << info.name;
    if (!on_unit) continue;
    EXPECT_EQ(info.name, "matrix_" + std::string(name_of(info.unit)));
    EXPECT_EQ(info.unit_products, 1);
    units.insert(info.unit);
  }
  EXPECT_EQ(units, std::set<Unit>(matrix_units.begin(), matrix_units.end()));
}

TEST(BrokenRoofline, CopiesHalf) {
  // Moves half of the elements.
  testing::expect_caught<Roofline>(
      testing::writes("copied",
                      [](auto const& exec, auto const& in, auto const& out) {
                        auto const half = Kokkos::make_pair(std::size_t{0}, in.a.extent(0) / 2);
                        measure::copy(exec, Kokkos::subview(in.a, half), Kokkos::subview(out.copied, half));
                      }),
      100, {}, "50");
}
TEST(BrokenRoofline, WritesHalf) {
  testing::expect_caught<Roofline>(testing::writes("written",
                                                   [](auto const& exec, auto const&, auto const& out) {
                                                     auto const half =
                                                         Kokkos::make_pair(std::size_t{0}, out.written.extent(0) / 2);
                                                     measure::write(exec, Kokkos::subview(out.written, half));
                                                   }),
                                   100, {}, "50");
}
TEST(BrokenRoofline, ForgetsFactor) {
  // Adds b, not s * b.
  testing::expect_caught<Roofline>(
      testing::writes("triad",
                      []<class Exec, class T>(Exec const& exec, InputOn<Roofline, Exec, T> const& in,
                                              OutputOn<Roofline, Exec, T> const& out) {
                        measure::triad(exec, in.a, in.b, out.triad, T(1));
                      }),
      100, {{"s", -3.0}}, "triad");
}
TEST(BrokenRoofline, SkipsIteration) {
  // One multiply-add too few.
  testing::expect_caught<Roofline>(
      testing::writes("chains",
                      [](auto const& exec, auto const& in, auto const& out) {
                        measure::chains(exec, out.chains, static_cast<std::int32_t>(in.parameters.iterations - 1));
                      }),
      100, {}, "chains");
}
TEST(BrokenRoofline, LaunchesNothing) {
  // No launch at all.
  testing::expect_caught<Roofline>(testing::writes("launched", [](auto const&, auto const&, auto const&) {}), 100, {},
                                   "launched");
}
TEST(BrokenRoofline, NamesTooMuch) { testing::expect_caught<Roofline>(NamesTooMuch{}, 100, {}, "triad"); }

enum class ScratchMistake {
  none,
  tail_from_a_whole_batch,  // reads places that the last, short batch has not staged
  no_barrier                // one loop: an element is used before the other end of the batch is staged
};

// triad_scratch in batches of 100, by one thread.
template <class Exec, class T, ScratchMistake mistake>
struct StagedTriad {
  static constexpr std::size_t places = 100;
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Staged = ScratchView<T*, Exec>;
  T const* a;
  T const* b;
  T* out;
  std::size_t n;
  measure::Triad<T> triad;

  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    Staged const staged(team.team_scratch(0), places);
    for (std::size_t i = 0; i < places; ++i) staged(i) = T(0);
    for (std::size_t first = 0; first < n; first += places) {
      std::size_t const count = n - first < places ? n - first : places;
      if (mistake != ScratchMistake::no_barrier) {
        for (std::size_t i = 0; i < count; ++i) staged(i) = b[first + i];
      }
      for (std::size_t k = 0; k < count; ++k) {
        if (mistake == ScratchMistake::no_barrier) staged(k) = b[first + k];
        std::size_t const i = count - 1 - k;
        std::size_t const place = mistake == ScratchMistake::tail_from_a_whole_batch ? places - 1 - k : i;
        out[first + i] = triad(a[first + i], staged(place));
      }
    }
  }
};

template <ScratchMistake mistake>
struct StagesTriad {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& in,
                  OutputOn<Roofline, Exec, T> const& out) const {
    using Kernel = StagedTriad<Exec, T, mistake>;
    Kokkos::parallel_for(
        "tessera::tests::broken_roofline",
        with_scratch(typename Kernel::Policy(exec, 1, 1), Kernel::Staged::shmem_size(Kernel::places)),
        Kernel{in.a.data(), in.b.data(), out.triad.data(), in.a.extent(0), {static_cast<T>(in.parameters.s)}});
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "triad"}}; }
};

ParameterMap const factor{{"s", -3.0}};
TEST(BrokenRoofline, StagedTriadIsRightWithoutAMistake) {
  testing::expect_right<Roofline>(StagesTriad<ScratchMistake::none>{}, 1030, factor);
}
TEST(BrokenRoofline, TailFromAWholeBatch) {
  testing::expect_caught<Roofline>(StagesTriad<ScratchMistake::tail_from_a_whole_batch>{}, 1030, factor,
                                   "first at [1000]");
}
TEST(BrokenRoofline, StagedWithoutABarrier) {
  testing::expect_caught<Roofline>(StagesTriad<ScratchMistake::no_barrier>{}, 1030, factor, "triad");
}

}  // namespace
}  // namespace tessera::roofline
