// Wrong sums of segments must be caught. The kernel's tiles of GPUs also run on hosts here.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "broken_rows.hpp"

#include "../../apps/segmented_sum/problem.hpp"

#include <tessera/kernels/segmented_sum.hpp>

namespace tessera::segmented_sum {
namespace {

enum class Mistake { none, skips_empty, keeps_old, misses_last, one_too_many, one_too_few, wrong_row, ends_early };

template <class T>
struct WrongSum {
  Mistake mistake;
  T const* in;
  std::int64_t const* offsets;
  T* out;
  std::size_t n;
  std::size_t rows;

  KOKKOS_FUNCTION void operator()(std::size_t r) const {
    auto begin = static_cast<std::size_t>(offsets[r]);
    auto end = static_cast<std::size_t>(offsets[r + 1]);
    if (mistake == Mistake::skips_empty && begin == end) return;
    if (mistake == Mistake::misses_last && r + 1 == rows) return;
    if (mistake == Mistake::one_too_many && end < n) ++end;
    if (mistake == Mistake::one_too_few && begin < end) --end;
    if (mistake == Mistake::wrong_row && r + 2 <= rows && r % 64 == 0) end = static_cast<std::size_t>(offsets[r + 2]);
    if (mistake == Mistake::ends_early && end - begin > 40) end = begin + 40;
    Accumulator<T> sum = mistake == Mistake::keeps_old ? static_cast<Accumulator<T>>(out[r]) : Accumulator<T>(0);
    for (std::size_t i = begin; i < end; ++i) sum += static_cast<Accumulator<T>>(in[i]);
    out[r] = static_cast<T>(sum);
  }
};

struct Wrong {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<SegmentedSum, Exec, T> const& in,
                  OutputOn<SegmentedSum, Exec, T> const& out) const {
    Kokkos::parallel_for(
        "tessera::tests::broken_segmented_sum", over(exec, out.out.extent(0)),
        WrongSum<T>{mistake, in.in.data(), in.offsets.data(), out.out.data(), in.in.extent(0), out.out.extent(0)});
  }
};

void expect_mistake(Mistake mistake) { testing::expect_caught<SegmentedSum>(Wrong{mistake}, 70001, {}, "out"); }

TEST(BrokenSegmentedSum, RightWithoutAMistake) { testing::expect_right<SegmentedSum>(Wrong{Mistake::none}, 70001, {}); }
TEST(BrokenSegmentedSum, EmptySegmentsAreNotWritten) { expect_mistake(Mistake::skips_empty); }
TEST(BrokenSegmentedSum, AddsToWhatIsThere) { expect_mistake(Mistake::keeps_old); }
TEST(BrokenSegmentedSum, LastSegmentIsNotWritten) { expect_mistake(Mistake::misses_last); }
TEST(BrokenSegmentedSum, OneElementTooMany) { expect_mistake(Mistake::one_too_many); }
TEST(BrokenSegmentedSum, OneElementTooFew) { expect_mistake(Mistake::one_too_few); }
TEST(BrokenSegmentedSum, SomeSegmentsEndWhereTheNextOnesDo) { expect_mistake(Mistake::wrong_row); }
TEST(BrokenSegmentedSum, LongSegmentsEndEarly) { expect_mistake(Mistake::ends_early); }

// Sums of 64 bits whose upper half is lost: generated data show it.
struct LowerHalf {
  template <ExecutionSpace Exec, class T>
    requires(std::is_integral_v<T> && sizeof(T) == 8)
  void operator()(Exec const& exec, InputOn<SegmentedSum, Exec, T> const& in,
                  OutputOn<SegmentedSum, Exec, T> const& out) const {
    auto const terms = in.in;
    auto const offsets = in.offsets;
    auto const sums = out.out;
    Kokkos::parallel_for(
        "tessera::tests::broken_segmented_sum::lower_half", over(exec, sums.extent(0)), KOKKOS_LAMBDA(std::size_t r) {
          std::uint32_t sum = 0;
          for (std::int64_t i = offsets(r); i < offsets(r + 1); ++i) sum += static_cast<std::uint32_t>(terms(i));
          sums(r) = static_cast<T>(sum);
        });
  }
};

TEST(BrokenSegmentedSum, UpperHalfIsLost) {
  if constexpr (contains<std::int32_t>(EnabledDTypes{})) {
    testing::expect_caught<SegmentedSum>(LowerHalf{}, 70001, {}, "out");
  }
}

// The kernel with a Tuning of this test: small tiles and many chunks, or the other method of the two.
template <bool in_tiles, int row_count, std::size_t chunk_count>
struct Tuned {
  template <class Exec, class T>
  struct Tuning : kernels::SegmentedSumTuning<Exec, T> {
    static constexpr bool tiles = in_tiles;
    static constexpr int rows = row_count;
    static constexpr std::size_t least_chunk = 1;
    [[nodiscard]] static std::size_t chunks(Exec const&, int) { return chunk_count; }
  };
  static constexpr VariantInfo info{.name = "tuned", .summary = "small tiles and many chunks"};
  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::SegmentedSum<Exec, T, Tuning<Exec, T>> {
    Plan(Exec const& exec, InputOn<SegmentedSum, Exec, T> const& in)
        : Plan::SegmentedSum(exec, in.in.extent(0), in.offsets.extent(0) - 1, in.parameters.team) {}
  };
};

App tuned_app() {
  return testing::app_with({rows<SegmentedSum, Tuned<true, 1, 100000>>(), rows<SegmentedSum, Tuned<true, 2, 5>>(),
                            rows<SegmentedSum, Tuned<true, 8, 1>>(), rows<SegmentedSum, Tuned<false, 8, 1000>>()});
}

// Random offsets: empty segments, and one that is long.
TEST(SegmentedSum, TilesAndChunks) {
  App const app = tuned_app();
  for (std::size_t const n : {0, 1, 3, 31, 127, 128, 129, 1000, 4099}) {
    for (std::size_t const rows : {1, 2, 33, 700}) testing::expect_passes(app, {{n}, {rows + 1}});
  }
}

// Every kind of length, so that segments end anywhere between tiles and chunks.
TEST(SegmentedSum, Lengths) {
  App const app = tuned_app();
  for (std::string const lengths : {"uniform", "geometric", "power_law"}) {
    for (std::int64_t const rows : {0, 1, 3, 20000, 100003}) {
      for (Row const& row : app.rows) {
        if (!testing::is_wanted(row)) continue;
        ParameterMap const given = testing::with_defaults(app, {{"lengths", lengths}, {"rows", rows}});
        auto const problem_case = app.generate(row.dtype, 40007, 5, given);
        std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
        if (outcome.starts_with("skipped: ")) continue;
        EXPECT_EQ(outcome, "") << testing::name_of(app, row) << " of " << lengths << ", rows " << rows;
      }
    }
  }
}

// All elements in one segment among empty ones; all segments without elements; ends at the edges of tiles and chunks.
TEST(SegmentedSum, EndsAtEdges) {
  App const app = tuned_app();
  auto const expect = [&](std::vector<double> const& offsets) {
    auto const n = static_cast<std::size_t>(offsets.back());
    std::vector<double> in(n);
    for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<double>(i % 13) - 3;
    testing::GivenFields const source({{"in", {{n}, in}}, {"offsets", {{offsets.size()}, offsets}}});
    for (std::int64_t const team : {0, 2}) {
      for (Row const& row : app.rows) {
        if (!testing::is_wanted(row)) continue;
        auto const problem_case = app.read(row.dtype, source, testing::with_defaults(app, {{"team", team}}));
        std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 2);
        if (outcome.starts_with("skipped: ")) continue;
        EXPECT_EQ(outcome, "") << testing::name_of(app, row) << " of " << n << ", team " << team;
      }
    }
  };
  std::vector<double> one(1001, 0);
  for (std::size_t r = 600; r < one.size(); ++r) one[r] = 5000;
  expect(one);
  expect(std::vector<double>(1001, 0));
  for (int const length : {1, 2, 16, 31, 32, 64, 127, 128}) {
    std::vector<double> offsets;
    for (int r = 0; r <= 200; ++r) offsets.push_back(r * length);
    expect(offsets);
    std::vector<double> twice;  // an empty segment behind each
    for (double const offset : offsets) twice.insert(twice.end(), {offset, offset});
    expect(twice);
  }
}

// Offsets never fall, begin with 0 and end with n; the bound of the longest segment holds.
TEST(SegmentedSum, GeneratedOffsets) {
  for (Lengths const lengths : {Lengths::uniform, Lengths::geometric, Lengths::power_law}) {
    for (std::uint64_t const n : {0, 1, 5, 1000, 100003}) {
      for (std::uint64_t const rows : {1, 2, 15, 16, 17, 128, 4097}) {
        Offsets const offsets{lengths, 42, n, rows};
        EXPECT_EQ(offsets.at(0), 0U);
        EXPECT_EQ(offsets.at(rows), n);
        std::uint64_t longest = 0;
        for (std::uint64_t r = 0; r < rows; ++r) {
          ASSERT_LE(offsets.at(r), offsets.at(r + 1))
              << static_cast<int>(lengths) << " " << n << " " << rows << " " << r;
          longest = std::max(longest, offsets.at(r + 1) - offsets.at(r));
        }
        EXPECT_LE(longest, offsets.longest()) << static_cast<int>(lengths) << " " << n << " " << rows;
      }
    }
  }
}

// Offsets that are none: one message, before anything is read from them.
TEST(SegmentedSum, WrongOffsetsAreRefused) {
  auto const message = [](std::vector<double> const& offsets) {
    testing::GivenFields const source({{"in", {{5}, {1, 2, 3, 4, 5}}}, {"offsets", {{offsets.size()}, offsets}}});
    try {
      SegmentedSum::check_source(DType::float32, source);
    } catch (UserError const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({0, 2, 2, 5}), "");
  EXPECT_TRUE(message({1, 2, 5}).starts_with("offsets[0] is 1 ("));
  EXPECT_TRUE(message({-1, 2, 5}).starts_with("offsets[0] is -1 ("));
  EXPECT_TRUE(message({0, 3, 2, 5}).starts_with("offsets[2] is 2, less than offsets[1] is 3 ("));
  EXPECT_TRUE(message({0, 6, 5}).starts_with("offsets[1] is 6, and in has 5 elements ("));
  EXPECT_TRUE(message({0, 2, 4}).starts_with("offsets[2] is 4, and in has 5 elements ("));
}

}  // namespace
}  // namespace tessera::segmented_sum
