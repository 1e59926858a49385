// Wrong chains of stencils must be caught, each with one typical mistake in a formula or at a boundary. Mistakes of
// tiles and buffers are in planted/stencil_chain_*.txt, those of the split barrier in
// collective/split_barrier_test.cpp.

#include <cstddef>
#include <cstdint>
#include <string>

#include "broken_rows.hpp"

#include "../../apps/stencil_chain/chain.hpp"
#include "../../apps/stencil_chain/problem.hpp"

namespace tessera::stencil_chain {

App app();

namespace {

enum class Mistake : std::uint8_t {
  none,
  ends_are_interior,   // divides by the full number of elements at the array's ends
  ends_repeat,         // the first and last element stand for missing ones
  ends_wrap,           // the array is taken for a ring
  ends_are_kept,       // elements whose neighbours are missing stay as they are
  one_stage_too_few,   // the last stage is left out
  one_stage_too_many,  // the last stage is applied twice
  blur_too_narrow,     // a reach of 1 in place of 2
  scale_forgotten,     // the factor is left out
  one_buffer,          // a stage reads its own results
  blocks_are_arrays    // tiles of 256 have ends of their own
};

// All stages of the array by one thread, in `buffers` of 2 n elements.
template <class T>
struct BrokenKernel {
  Mistake mistake;
  StageChain<T> chain;
  T const* in;
  T* out;
  T* buffers;
  std::size_t n;

  KOKKOS_FUNCTION T result(Stage<T> const& stage, T const* from, std::size_t i) const {
    auto const reach = static_cast<std::ptrdiff_t>(stage.reach);
    auto const at = static_cast<std::ptrdiff_t>(i);
    std::ptrdiff_t first = 0;
    auto last = static_cast<std::ptrdiff_t>(n) - 1;
    if (mistake == Mistake::blocks_are_arrays) {
      first = at / 256 * 256;
      last = Kokkos::min(last, first + 255);
    }
    bool const is_inner = at - reach >= first && at + reach <= last;
    if (mistake == Mistake::ends_are_kept && !is_inner) return from[i];
    T sum = 0;
    int present = 0;
    for (std::ptrdiff_t j = at - reach; j <= at + reach; ++j) {
      bool const there = j >= first && j <= last;
      std::ptrdiff_t k = j;
      if (mistake == Mistake::ends_repeat) k = Kokkos::clamp(j, first, last);
      if (mistake == Mistake::ends_wrap) k = (j + last + 1) % (last + 1);
      if (!there && k == j) continue;
      sum += from[k];
      ++present;
    }
    if (mistake == Mistake::ends_are_interior) present = 2 * stage.reach + 1;
    return sum * (stage.factor / static_cast<T>(present));
  }

  KOKKOS_FUNCTION void operator()(int) const {
    T* from = buffers;
    T* to = mistake == Mistake::one_buffer ? buffers : buffers + n;
    for (std::size_t i = 0; i < n; ++i) from[i] = in[i];
    int stages = chain.count();
    if (mistake == Mistake::one_stage_too_few) --stages;
    if (mistake == Mistake::one_stage_too_many) ++stages;
    for (int s = 0; s < stages; ++s) {
      Stage<T> stage = chain.stage(s);
      if (mistake == Mistake::blur_too_narrow && stage.reach == 2) stage.reach = 1;
      if (mistake == Mistake::scale_forgotten) stage.factor = T(1);
      for (std::size_t i = 0; i < n; ++i) to[i] = result(stage, from, i);
      Kokkos::kokkos_swap(from, to);
    }
    for (std::size_t i = 0; i < n; ++i) out[i] = from[i];
  }
};

struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, Floating T>
  void operator()(Exec const& exec, InputOn<StencilChain, Exec, T> const& in,
                  OutputOn<StencilChain, Exec, T> const& out) const {
    std::size_t const n = in.in.extent(0);
    ArrayOn<T*, Exec> const buffers(unset("tessera::tests::broken_stencil_chain"), 2 * n);
    Kokkos::parallel_for(
        "tessera::tests::broken_stencil_chain", Kokkos::RangePolicy<Exec>(exec, 0, 1),
        BrokenKernel<T>{mistake, StageChain<T>(in.parameters), in.in.data(), out.out.data(), buffers.data(), n});
    exec.fence("tessera::tests: the buffers are in use until here");
  }
};

ParameterMap averages() { return {{"chain", std::string("averages")}}; }

constexpr std::size_t size = 1000;

void expect_caught(Mistake mistake, std::string const& filters, std::string const& in_averages) {
  testing::expect_caught<StencilChain>(Broken{mistake}, size, {}, filters);
  testing::expect_caught<StencilChain>(Broken{mistake}, size, averages(), in_averages);
}

// Without a mistake the kernel must pass; otherwise the tests below prove nothing.
TEST(BrokenStencilChain, IsRightWithoutAMistake) {
  for (std::size_t const n : {1, 2, 3, 5, 1000}) {
    testing::expect_right<StencilChain>(Broken{Mistake::none}, n, {});
    testing::expect_right<StencilChain>(Broken{Mistake::none}, n, averages());
  }
}
TEST(BrokenStencilChain, EndsAreInterior) {
  expect_caught(Mistake::ends_are_interior, "6 of 1000 elements are wrong", "6 of 1000 elements are wrong");
}
TEST(BrokenStencilChain, EndsRepeat) { expect_caught(Mistake::ends_repeat, "first at [0]", "first at [0]"); }
TEST(BrokenStencilChain, EndsWrap) { expect_caught(Mistake::ends_wrap, "first at [0]", "first at [0]"); }
TEST(BrokenStencilChain, EndsAreKept) { expect_caught(Mistake::ends_are_kept, "first at [0]", "first at [0]"); }
TEST(BrokenStencilChain, OneStageTooFew) { expect_caught(Mistake::one_stage_too_few, "first at [0]", "first at [0]"); }
TEST(BrokenStencilChain, OneStageTooMany) {
  expect_caught(Mistake::one_stage_too_many, "first at [0]", "first at [0]");
}
TEST(BrokenStencilChain, OneBuffer) { expect_caught(Mistake::one_buffer, "first at [0]", "first at [0]"); }
TEST(BrokenStencilChain, BlocksAreArrays) {
  expect_caught(Mistake::blocks_are_arrays, "first at [253]", "first at [253]");
}
TEST(BrokenStencilChain, BlurTooNarrow) {
  testing::expect_caught<StencilChain>(Broken{Mistake::blur_too_narrow}, size, {}, "first at [0]");
}
TEST(BrokenStencilChain, ScaleForgotten) {
  testing::expect_caught<StencilChain>(Broken{Mistake::scale_forgotten}, size, {}, "1000 of 1000 elements are wrong");
}

// Sums that leave the dtype's range are not checked, and infinities keep their place.
TEST(StencilChain, InfinitiesAndNotANumber) {
  double const infinity = std::numeric_limits<double>::infinity();
  testing::GivenFields const source({{"in", {{6}, {1, 2, infinity, 3, 4, 5}}}});
  testing::expect_checked(app(), source, {{"chain", std::string("averages")}, {"iterations", std::int64_t{1}}},
                          {1.5, infinity, infinity, infinity, 4, 4.5}, 1e-6);
}

}  // namespace
}  // namespace tessera::stencil_chain
