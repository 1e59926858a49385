// Wrong sorts of segments must be caught, also at a user's size. The kernel also runs with tiny tiles here, so that
// segments cross many of them.

#include "broken_rows.hpp"
#include "harness.hpp"
#include "prepared.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "../../apps/sort_segments/problem.hpp"

#include <tessera/kernels/sort_segments.hpp>

namespace tessera::sort_segments {

App app();

namespace {

enum class Mistake {
  none,
  swapped_at_the_end,   // the last two different keys of a late segment
  lost_and_duplicated,  // a key of a late segment is replaced by its neighbour
  moved_over_a_border,  // the last key of a late segment and the first one of the next
  ties_in_wrong_order,  // the values of two equal keys of a late segment
  last_forgotten,       // the last segment keeps the order of the input
  last_tile_unsorted,   // the last 1000 keys of the longest segment keep the order of the input
  values_left_behind,   // those of the last segment
  borders_ignored,      // the array is one segment
  ignores_descending,
};

// One thread.
template <class T, class KeysIn, class ValuesIn, class Offsets, class Keys, class Values>
struct Damage {
  Mistake mistake;
  collective::KeyOrder<T> order;
  KeysIn keys_in;
  ValuesIn values_in;
  Offsets offsets;
  Keys keys;
  Values values;

  KOKKOS_FUNCTION void restore(std::size_t begin, std::size_t end, bool with_keys) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (with_keys) keys(i) = keys_in(i);
      if (values.extent(0) > 0) values(i) = values_in(i);
    }
  }
  KOKKOS_FUNCTION void operator()(std::size_t) const {
    std::size_t const rows = offsets.extent(0) - 1;
    auto const begin = [&](std::size_t r) { return static_cast<std::size_t>(offsets(r)); };
    auto const is_equal = [&](std::size_t i, std::size_t j) { return order(keys(i)) == order(keys(j)); };
    // The last place i whose key, and the key before it, are in one segment, and are equal or not.
    std::size_t row = rows;
    std::size_t i = 0;
    auto const find = [&](bool equal) {
      while (row > 0) {
        --row;
        for (i = begin(row + 1); i > begin(row) + 1;) {
          --i;
          if (is_equal(i, i - 1) == equal) return;
        }
      }
    };
    switch (mistake) {
      case Mistake::swapped_at_the_end:
        find(false);
        Kokkos::kokkos_swap(keys(i), keys(i - 1));
        if (values.extent(0) > 0) Kokkos::kokkos_swap(values(i), values(i - 1));
        break;
      case Mistake::lost_and_duplicated:
        find(false);
        keys(i) = keys(i - 1);
        if (values.extent(0) > 0) values(i) = values(i - 1);
        break;
      case Mistake::ties_in_wrong_order:
        find(true);
        Kokkos::kokkos_swap(values(i), values(i - 1));
        break;
      case Mistake::moved_over_a_border:
        for (row = rows - 1; begin(row) == keys.extent(0) || is_equal(begin(row), begin(row) - 1);) --row;
        Kokkos::kokkos_swap(keys(begin(row)), keys(begin(row) - 1));
        if (values.extent(0) > 0) Kokkos::kokkos_swap(values(begin(row)), values(begin(row) - 1));
        break;
      case Mistake::last_forgotten:
        for (row = rows - 1; begin(row + 1) - begin(row) < 2;) --row;
        restore(begin(row), begin(row + 1), true);
        break;
      case Mistake::values_left_behind:
        for (row = rows - 1; begin(row + 1) - begin(row) < 2;) --row;
        restore(begin(row), begin(row + 1), false);
        break;
      case Mistake::last_tile_unsorted: {
        std::size_t longest = 0;
        for (row = 0; row < rows; ++row) {
          if (begin(row + 1) - begin(row) > begin(longest + 1) - begin(longest)) longest = row;
        }
        std::size_t const end = begin(longest + 1);
        std::size_t const first = begin(longest);
        restore(end - first > 1000 ? end - 1000 : first, end, true);
        break;
      }
      default: break;
    }
  }
};

struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<SortSegments, Exec, T> const& in,
                  OutputOn<SortSegments, Exec, T> const& out) const {
    bool const descending = in.parameters.descending && mistake != Mistake::ignores_descending;
    ArrayOn<std::int64_t*, Exec> const whole("tessera::tests::broken_sort_segments::offsets", 2);
    Kokkos::deep_copy(exec, Kokkos::subview(whole, 1), static_cast<std::int64_t>(in.keys.extent(0)));
    ArrayOn<std::int64_t const*, Exec> offsets = in.offsets;
    if (mistake == Mistake::borders_ignored) offsets = whole;
    if (in.values.extent(0) > 0) {
      kernels::sort_segment_pairs(exec, in.keys, in.values, offsets, out.keys, out.values, descending);
    } else {
      kernels::sort_segments(exec, in.keys, offsets, out.keys, descending);
    }
    using Wrong = Damage<T, std::remove_cvref_t<decltype(in.keys)>, std::remove_cvref_t<decltype(in.values)>,
                         std::remove_cvref_t<decltype(in.offsets)>, std::remove_cvref_t<decltype(out.keys)>,
                         std::remove_cvref_t<decltype(out.values)>>;
    Kokkos::parallel_for(
        "tessera::tests::broken_sort_segments::damage", over(exec, 1),
        Wrong{mistake, collective::KeyOrder<T>(descending), in.keys, in.values, in.offsets, out.keys, out.values});
    exec.fence("tessera::tests::broken_sort_segments");
  }
};

ParameterMap const with_index{{"values", std::string("index")}};
ParameterMap const few_with_index{{"values", std::string("index")}, {"distribution", std::string("few")}};
ParameterMap const power_law{{"lengths", std::string("power_law")}};

void expect_caught(std::initializer_list<Mistake> mistakes, std::size_t size, ParameterMap const& given) {
  testing::expect_all_caught<SortSegments, Broken>(mistakes, size, DataKind::random, given);
}

TEST(BrokenSortSegments, ThePathItselfIsRight) {
  for (std::size_t const size : {1, 2, 1000, 70001}) {
    testing::expect_right<SortSegments>(Broken{Mistake::none}, size, {});
    testing::expect_right<SortSegments>(Broken{Mistake::none}, size, with_index);
    testing::expect_right<SortSegments>(Broken{Mistake::none}, size, {{"descending", true}});
  }
}
TEST(BrokenSortSegments, KeysInWrongPlaces) {
  expect_caught({Mistake::swapped_at_the_end, Mistake::lost_and_duplicated, Mistake::moved_over_a_border,
                 Mistake::last_forgotten},
                1000, {});
}
TEST(BrokenSortSegments, ValuesInWrongPlaces) {
  expect_caught({Mistake::ties_in_wrong_order, Mistake::values_left_behind}, 1000, few_with_index);
}
// One case for all of them: the reference of a large one takes seconds.
TEST(BrokenSortSegments, Late) {
  expect_caught({Mistake::swapped_at_the_end, Mistake::lost_and_duplicated, Mistake::moved_over_a_border,
                 Mistake::last_forgotten, Mistake::ties_in_wrong_order},
                testing::late_size(), few_with_index);
}
TEST(BrokenSortSegments, LongSegments) {
  for (std::size_t const size : {std::size_t{70001}, testing::late_size()}) {
    expect_caught({Mistake::last_tile_unsorted}, size, power_law);
  }
}
TEST(BrokenSortSegments, Order) {
  expect_caught({Mistake::ignores_descending}, 1000, {{"descending", true}});
  expect_caught({Mistake::borders_ignored}, 1000, {});
}

// The kernel with a Tuning of this test: tiny tiles.
template <int of_items, int of_tile, int whole>
struct Tuned {
  template <class Exec, class T>
  struct Tuning : kernels::SortSegmentsTuning<Exec, T> {
    static constexpr int items = of_items;
    static constexpr int tile = of_tile;
    static constexpr int longest_whole = whole;
    static constexpr int chunk = 3;
  };
  static constexpr VariantInfo info{.name = "tuned", .summary = "tiny tiles"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    kernels::SortSegments<Exec, T, std::int32_t, Tuning<Exec, T>> sort;
    Plan(Exec const& exec, InputOn<SortSegments, Exec, T> const& in)
        : sort(exec, in.keys.extent(0), in.offsets.extent(0) - 1, in.parameters.descending, in.parameters.team) {
      if (in.keys.extent(0) != in.values.extent(0)) throw Skip("keys without values");
    }
    void operator()(Exec const& exec, InputOn<SortSegments, Exec, T> const& in,
                    OutputOn<SortSegments, Exec, T> const& out) const {
      sort(exec, in.keys, in.values, in.offsets, out.keys, out.values);
    }
  };
};

App tuned_app() {
  return testing::app_with({rows<SortSegments, Tuned<1, 1, 0>>(), rows<SortSegments, Tuned<2, 4, 0>>(),
                            rows<SortSegments, Tuned<4, 15, 16>>(), rows<SortSegments, Tuned<8, 112, 30>>()});
}

void expect_sorted(App const& app, Case& problem_case, Row const& row, std::string const& what) {
  std::string const outcome = testing::run_row(row, problem_case, problem_case.reference(), 1);
  if (outcome.starts_with("skipped: ")) return;
  EXPECT_EQ(outcome, "") << testing::name_of(app, row) << " of " << what;
}

// Every kind of length, so that segments begin and end anywhere in tiles, and take any number of passes.
TEST(SortSegments, TinyTiles) {
  App const app = tuned_app();
  for (std::string const lengths : {"uniform", "geometric", "power_law"}) {
    for (std::int64_t const rows : {0, 1, 3, 100, 5003}) {
      for (std::size_t const size : {1, 2, 14, 15, 16, 31, 4099}) {
        for (Row const& row : app.rows) {
          if (!testing::is_wanted(row)) continue;
          ParameterMap given{{"lengths", lengths}, {"rows", rows}, {"descending", rows == 3}};
          given.insert(few_with_index.begin(), few_with_index.end());
          auto const problem_case = app.generate(row.dtype, size, 5, testing::with_defaults(app, given));
          expect_sorted(app, *problem_case, row, lengths + ", rows " + std::to_string(rows));
        }
      }
    }
  }
}

// Segments that begin and end at borders of tiles or beside them; empty ones between; all keys in one among many.
TEST(SortSegments, BordersOfTiles) {
  App const app = tuned_app();
  auto const expect = [&](std::vector<double> const& offsets) {
    auto const n = static_cast<std::size_t>(offsets.back());
    std::vector<double> keys(n);
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = static_cast<double>(i * 7919 % 101);
      values[i] = static_cast<double>(i);
    }
    testing::GivenFields const source(
        {{"keys", {{n}, keys}}, {"values", {{n}, values}}, {"offsets", {{offsets.size()}, offsets}}});
    for (std::int64_t const team : {0, 2}) {
      for (Row const& row : app.rows) {
        // Barriers are slow on busy processors: teams of two have one dtype.
        if (!testing::is_wanted(row) || (team > 0 && row.dtype != app.rows.front().dtype)) continue;
        auto const problem_case = app.read(row.dtype, source, testing::with_defaults(app, {{"team", team}}));
        expect_sorted(app, *problem_case, row, std::to_string(n) + ", team " + std::to_string(team));
      }
    }
  };
  std::vector<double> one(1001, 0);
  for (std::size_t r = 600; r < one.size(); ++r) one[r] = 1000;
  expect(one);
  for (int const length : {1, 2, 4, 14, 15, 16, 30, 112, 113}) {
    std::vector<double> offsets;
    for (int r = 0; r <= 20; ++r) offsets.push_back(r * length);
    expect(offsets);
    std::vector<double> twice;  // an empty segment behind each
    for (double const offset : offsets) twice.insert(twice.end(), {offset, offset});
    expect(twice);
  }
}

// A smaller bound of the lengths saves passes, and sorts all segments that keep it.
TEST(SortSegments, LongestSegment) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  Exec const exec;
  using Sort = kernels::SortSegments<Exec, std::int32_t, kernels::NoValue, Tuned<2, 4, 1>::Tuning<Exec, std::int32_t>>;
  EXPECT_EQ(Sort(exec, 1000, 1).passes(), 8);
  for (int const length : {1, 2, 3, 4, 5, 6, 8, 9, 10, 17, 100}) {
    int const rows = 1000 / length;
    int const n = rows * length;
    Sort const sort(exec, n, rows, false, 0, length);
    EXPECT_LE(sort.passes(), length == 1 ? 0 : length <= 5 ? 1 : length <= 13 ? 2 : 5) << length;
    Kokkos::View<std::int32_t*, Exec> const keys("keys", n);
    Kokkos::View<std::int32_t*, Exec> const sorted("sorted", n);
    Kokkos::View<std::int64_t*, Exec> const offsets("offsets", rows + 1);
    for (int i = 0; i < n; ++i) keys(i) = -i;
    for (int r = 0; r <= rows; ++r) offsets(r) = r * length;
    sort(exec, keys, offsets, sorted);
    exec.fence();
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += sorted(i) != -(i / length * length + length - 1 - i % length) ? 1 : 0;
    EXPECT_EQ(wrong, 0) << length;
  }
}

// A row is also planned for other offsets, with a long segment. Variants for short segments must not be skipped then.
TEST(SortSegments, ShortSegmentsOfALongArray) {
  App const sorts = app();
  ParameterMap const given;
  testing::PreparedCase const& at = testing::prepared_case(sorts, given, (std::size_t{1} << 24) + 64);
  for (Row const& row : at.app.rows) {
    if (row.info.name != "lanes_per_segment" || row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    Verified verified;
    auto const report = run_row(
        row, *at.problem_case, at.oracle, {.warmup = 0, .samples = 1, .min_time = 0}, RowReport{}, [] { return false; },
        {}, verified);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->status, Status::passed) << testing::name_of(at.app, row) << ": " << report->reason;
    at.problem_case->release_device_input();
  }
}

// The other input must differ far into long keys of 64-bit integers, which are no offsets, and offsets must not fall.
TEST(SortSegments, OtherInputOfLongArrays) {
  App const sorts = app();
  auto const has_int64 = [](Row const& row) { return row.dtype == DType::int64; };
  if (std::ranges::none_of(sorts.rows, has_int64)) GTEST_SKIP() << "no int64 in this build";
  std::size_t const n = std::size_t{1} << 21;
  auto const at = sorts.generate(DType::int64, n, 42, testing::with_defaults(sorts, {{"rows", std::int64_t{1} << 20}}));
  auto& untyped = dynamic_cast<tessera::detail::UntypedCase&>(*at);
  std::vector<HostField> const input = untyped.input();
  auto const* const keys = static_cast<std::int64_t const*>(input.at(0).data.get());
  auto const* const offsets = static_cast<std::int64_t const*>(input.at(2).data.get());
  ASSERT_NE(keys[n - 1], 0);
  std::int64_t const first_key = keys[0];
  std::int64_t const first_end = offsets[1];
  {
    auto const others = untyped.other_input(space_name<Kokkos::DefaultHostExecutionSpace>());
    EXPECT_EQ(keys[n - 1], 0);
    EXPECT_GE(std::count(keys, keys + n, 0), std::ptrdiff_t{1} << 19);
    EXPECT_TRUE(std::is_sorted(offsets, offsets + (1 << 20) + 1));
    EXPECT_NE(offsets[1], first_end);
  }
  EXPECT_NE(keys[n - 1], 0);
  EXPECT_EQ(keys[0], first_key);
  EXPECT_EQ(offsets[1], first_end);
}

// Kernels read keys and offsets by the other offsets: they end with n.
TEST(SortSegments, OtherInputOfShortArrays) {
  App const sorts = app();
  auto const at = sorts.generate(sorts.rows.front().dtype, 1000, 42, testing::with_defaults(sorts, {}));
  auto& untyped = dynamic_cast<tessera::detail::UntypedCase&>(*at);
  HostField const field = untyped.input().at(2);
  auto const* const offsets = static_cast<std::int64_t const*>(field.data.get());
  std::vector<std::int64_t> const before(offsets, offsets + field.shape.front());
  auto const others = untyped.other_input(space_name<Kokkos::DefaultHostExecutionSpace>());
  std::vector<std::int64_t> const now(offsets, offsets + field.shape.front());
  EXPECT_NE(now, before);
  EXPECT_TRUE(std::ranges::is_sorted(now));
  EXPECT_EQ(now.front(), 0);
  EXPECT_EQ(now.back(), 1000);
}

// Offsets that are none: one message, before anything is read from them.
TEST(SortSegments, WrongOffsetsAreRefused) {
  auto const message = [](std::vector<double> const& offsets) {
    testing::GivenFields const source({{"keys", {{5}, {1, 2, 3, 4, 5}}}, {"offsets", {{offsets.size()}, offsets}}});
    try {
      SortSegments::check_source(DType::float32, source);
    } catch (UserError const& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({0, 2, 2, 5}), "");
  EXPECT_TRUE(message({0, 3, 2, 5}).starts_with("offsets[2] is 2, less than offsets[1] is 3 ("));
  EXPECT_TRUE(message({0, 6, 5}).starts_with("offsets[1] is 6, and keys has 5 elements ("));
}

}  // namespace
}  // namespace tessera::sort_segments
