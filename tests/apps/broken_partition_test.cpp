// Wrong partitions must be caught. The file also tests the comparison with the pivot, the code for GPUs and for arrays
// beyond 2^32 on hosts, and teams that run their threads in the worst order.

#include "broken_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "guarded_array.hpp"

#include "../../apps/partition/pivot_bins.hpp"
#include "../../apps/partition/predicate.hpp"
#include "../../apps/partition/problem.hpp"
#include "../../apps/partition/whole_array_plan.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/partition.hpp>
#include <tessera/kernels/partition_segments.hpp>

namespace tessera::partition {
namespace {

enum class Mistake {
  none,
  equal_goes_left,
  right_reversed,       // rejected elements in reverse order, as an unstable single pass leaves them
  second_tile_off,      // one tile of 8 misses the last count of the previous tile
  not_stable_in_lanes,  // the left elements of 32 lanes are reversed
  inclusive_scan,       // an element counts itself: positions are one too far, and the first stays empty
  counts_in_float,      // stops at 2^24
  ignores_segments,
  fills_the_rest,  // also writes the right part, but claims not to
};

// One index per segment.
template <class T>
struct SplitSegment {
  Partition::Parameters parameters;
  T const* in;
  T* values;
  std::int64_t* left_count;
  std::size_t n;
  Mistake mistake;

  [[nodiscard]] KOKKOS_FUNCTION bool is_left(T x) const {
    auto const wide = static_cast<double>(x);
    return mistake == Mistake::equal_goes_left ? wide <= parameters.pivot : wide < parameters.pivot;
  }
  KOKKOS_FUNCTION void operator()(std::size_t s) const {
    bool const whole = parameters.segment == 0 || mistake == Mistake::ignores_segments;
    std::size_t const begin = whole ? 0 : s * parameters.segment;
    std::size_t const end = whole || n - begin < parameters.segment ? n : begin + parameters.segment;
    std::size_t lefts = 0;
    float inexact = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (!is_left(in[i])) continue;
      ++lefts;
      inexact += 1.0f;
    }
    left_count[s] =
        mistake == Mistake::counts_in_float ? static_cast<std::int64_t>(inexact) : static_cast<std::int64_t>(lefts);
    std::size_t left = begin;
    std::size_t right = mistake == Mistake::right_reversed ? end - 1 : begin + lefts;
    for (std::size_t i = begin; i < end; ++i) {
      if (mistake == Mistake::second_tile_off && i == begin + 16 && left > begin) --left;
      if (is_left(in[i])) {
        std::size_t const place = left++ + (mistake == Mistake::inclusive_scan ? 1 : 0);
        values[place < end ? place : begin] = in[i];
      } else {
        values[right] = in[i];
        right += mistake == Mistake::right_reversed ? -1 : 1;
      }
    }
    if (mistake == Mistake::not_stable_in_lanes) {
      for (std::size_t a = begin, b = Kokkos::min(begin + 32, begin + lefts); a + 1 < b; ++a, --b) {
        T const other = values[b - 1];
        values[b - 1] = values[a];
        values[a] = other;
      }
    }
  }
};

// A partition with one mistake.
struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& in,
                  OutputOn<Partition, Exec, T> const& out) const {
    Kokkos::parallel_for("tessera::tests::broken_partition",
                         Kokkos::RangePolicy<Exec>(exec, 0, out.left_count.extent(0)),
                         SplitSegment<T>{in.parameters, in.in.data(), out.values.data(), out.left_count.data(),
                                         in.in.extent(0), mistake});
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const {
    if (mistake != Mistake::fills_the_rest) return {};
    return {{.field = "values", .count_field = "left_count"}, {.field = "left_count"}};
  }
};

enum class BinMistake {
  none,
  reversed_in_a_bin,  // the elements of the first bin from the last to the first
  exclusive_counts,   // a bin's begin instead of its end
  one_place_early,    // the last bin overwrites an element of the bin before
};

// Splits the whole array into bins, bin by bin, in one thread.
template <class T>
struct SplitInBins {
  PivotBins<T> bin_of;
  int bins;
  T const* in;
  T* values;
  std::int64_t* left_count;
  std::size_t n;
  BinMistake mistake;

  KOKKOS_FUNCTION void operator()(std::size_t) const {
    std::size_t place = 0;
    for (int bin = 0; bin < bins; ++bin) {
      if (mistake == BinMistake::one_place_early && bin == bins - 1 && place > 0) --place;
      std::size_t const begin = place;
      for (std::size_t i = 0; i < n; ++i) {
        if (bin_of(in[i]) == bin) values[place++] = in[i];
      }
      if (mistake == BinMistake::reversed_in_a_bin && bin == 0) {
        for (std::size_t a = begin, b = place; a + 1 < b; ++a, --b) {
          T const other = values[b - 1];
          values[b - 1] = values[a];
          values[a] = other;
        }
      }
      if (bin + 1 < bins) {
        left_count[bin] = static_cast<std::int64_t>(mistake == BinMistake::exclusive_counts ? begin : place);
      }
    }
  }
};
struct BrokenBins {
  BinMistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& in,
                  OutputOn<Partition, Exec, T> const& out) const {
    Kokkos::parallel_for("tessera::tests::broken_bins", Kokkos::RangePolicy<Exec>(exec, 0, 1),
                         SplitInBins<T>{PivotBins<T>(in.parameters), static_cast<int>(in.parameters.bins), in.in.data(),
                                        out.values.data(), out.left_count.data(), in.in.extent(0), mistake});
  }
};

// Returns what a row of the variant reports for each dtype and space; the element `pivot_at` is the pivot.
template <class Tested>
void for_each_outcome(Tested const& tested, std::size_t size, ParameterMap given, int runs, auto const& body,
                      int pivot_at = -1) {
  App const app = testing::app_with({testing::rows_of<Partition>(tested)});
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row)) continue;
    if (pivot_at >= 0) {
      auto const at = static_cast<std::size_t>(pivot_at);
      given["pivot"] = row.dtype == DType::int32 ? random_value<std::int32_t>(1, 0, at)
                                                 : static_cast<double>(random_value<double>(1, 0, at));
    }
    auto const problem_case = app.generate(row.dtype, size, 1, testing::with_defaults(app, given));
    body(testing::run_row(row, *problem_case, problem_case->reference(), runs), testing::name_of(app, row));
  }
}

void expect_passed(std::string const& outcome, std::string const& name) {
  if (outcome.starts_with("skipped: a team of ")) return;  // more threads than this machine offers
  EXPECT_EQ(outcome, "") << name;
}

TEST(BrokenPartition, ThePathItselfIsRight) {
  for_each_outcome(Broken{Mistake::none}, 100, {}, 2, expect_passed, 50);
  for_each_outcome(Broken{Mistake::none}, 100, {{"segment", std::int64_t{10}}}, 2, expect_passed);
}
TEST(BrokenPartition, Bins) {
  ParameterMap const bins{{"bins", std::int64_t{9}}, {"width", 0.1}};
  for_each_outcome(BrokenBins{BinMistake::none}, 100, bins, 2, expect_passed);
  testing::expect_caught<Partition>(BrokenBins{BinMistake::reversed_in_a_bin}, 100, bins, "values");
  testing::expect_caught<Partition>(BrokenBins{BinMistake::exclusive_counts}, 100, bins, "left_count");
  testing::expect_caught<Partition>(BrokenBins{BinMistake::one_place_early}, 100, bins, "values");
}
TEST(BrokenPartition, EqualGoesLeft) {
  for_each_outcome(
      Broken{Mistake::equal_goes_left}, 100, {}, 1,
      [](std::string const& outcome, std::string const& name) {
        EXPECT_NE(outcome.find("wrong"), std::string::npos) << name << ": " << outcome;
      },
      50);
}
TEST(BrokenPartition, RightReversed) {
  testing::expect_caught<Partition>(Broken{Mistake::right_reversed}, 100, {}, "values");
}
TEST(BrokenPartition, SecondTileOff) {
  testing::expect_caught<Partition>(Broken{Mistake::second_tile_off}, 100, {}, "values");
}
TEST(BrokenPartition, NotStableInLanes) {
  testing::expect_caught<Partition>(Broken{Mistake::not_stable_in_lanes}, 100, {}, "values");
}
TEST(BrokenPartition, InclusiveScan) {
  testing::expect_caught<Partition>(Broken{Mistake::inclusive_scan}, 100, {}, "values");
}
TEST(BrokenPartition, CountsInFloat) {
  testing::expect_caught<Partition>(Broken{Mistake::counts_in_float}, (std::size_t{1} << 24) + 3, {{"pivot", 1000.0}},
                                    "expected 16777219, got 16777216");
}
TEST(BrokenPartition, IgnoresSegments) {
  testing::expect_caught<Partition>(Broken{Mistake::ignores_segments}, 100, {{"segment", std::int64_t{30}}}, "wrong");
}
TEST(BrokenPartition, FillsTheRest) {
  testing::expect_caught<Partition>(Broken{Mistake::fills_the_rest}, 100, {}, "were written after the first");
}

// Evaluates x < pivot in double, for numbers of T around the pivot.
template <class T>
void expect_same_as_in_double() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers{T(0), T(1), T(-1), T(2), Limits::max(), Limits::lowest()};
  if constexpr (std::is_floating_point_v<T>) {
    for (double const pivot : {0.1, -0.1, 1.0, 1e-60, -1e-60, 16777217.0}) {
      auto const near = static_cast<T>(pivot);
      numbers.insert(numbers.end(), {near, std::nextafter(near, T(1e9)), std::nextafter(near, T(-1e9))});
    }
    numbers.insert(numbers.end(), {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(),
                                   -Limits::denorm_min(), T(-0.0)});
  }
  double const infinite = std::numeric_limits<double>::infinity();
  for (double const pivot :
       {0.0,          -0.0,          0.1,           -0.1,          1.0,      0.5,          -0.5,         1e-60,
        -1e-60,       1e-320,        16777217.0,    1e60,          -1e60,    2147483647.0, 2147483646.5, 2147483647.5,
        2147483648.0, -2147483648.0, -2147483647.5, -2147483648.5, infinite, -infinite,    std::nan("")}) {
    LessThanPivot<T> const is_left(pivot);
    for (T const x : numbers) EXPECT_EQ(is_left(x), static_cast<double>(x) < pivot) << x << " < " << pivot;
  }
}
TEST(LessThanPivot, IsTheComparisonInDouble) {
  expect_same_as_in_double<float>();
  expect_same_as_in_double<double>();
  expect_same_as_in_double<std::int32_t>();
}

// A GPU's lanes, packs and moves, on every space, and the 64-bit counts of arrays beyond 2^32.
template <class T>
struct WarpsAndWideCounts : kernels::WarpPartitionTuning<T> {
  static constexpr std::size_t most_in_32_bits = 0;
};

struct PassAsOnGpu {
  static constexpr VariantInfo info{.name = "pass_as_on_gpu", .summary = "a GPU's tiles, on every space"};
  template <ExecutionSpace Exec, class T>
  using Plan = WholeArrayPlan<PassAsOnGpu, Exec, T,
                              kernels::LookBackPartition<Exec, T, LessThanPivot<T>, kernels::WarpPartitionTuning<T>>>;
};

struct PassOfMany {
  static constexpr VariantInfo info{.name = "pass_of_many", .summary = "the same with wide counts"};
  template <ExecutionSpace Exec, class T>
  using Plan =
      WholeArrayPlan<PassOfMany, Exec, T, kernels::LookBackPartition<Exec, T, LessThanPivot<T>, WarpsAndWideCounts<T>>>;
};

struct CompactionOfMany {
  static constexpr VariantInfo info{.name = "compaction_of_many", .summary = "of the left ones alone"};
  template <ExecutionSpace Exec, class T>
  struct Plan : WholeArrayPlan<CompactionOfMany, Exec, T,
                               kernels::LookBackCompaction<Exec, T, LessThanPivot<T>, WarpsAndWideCounts<T>>> {
    using Plan::WholeArrayPlan::WholeArrayPlan;
    [[nodiscard]] std::vector<WrittenField> outputs() const {
      return {{.field = "values", .count_field = "left_count"}, {.field = "left_count"}};
    }
  };
};

struct ChunkedAsOnGpu {
  static constexpr VariantInfo info{.name = "chunked_as_on_gpu", .summary = "a GPU's tiles, on every space"};
  template <ExecutionSpace Exec, class T>
  using Plan = WholeArrayPlan<ChunkedAsOnGpu, Exec, T,
                              kernels::ReduceThenScatter<Exec, T, LessThanPivot<T>, kernels::WarpPartitionTuning<T>>>;
};

struct LanesAsOnGpu {
  static constexpr VariantInfo info{.name = "lanes_as_on_gpu", .summary = "32 lanes, on every space"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& in)
        : split(exec, in.in.extent(0), in.parameters.segment, LessThanPivot<T>(in.parameters.pivot)) {}
    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& in,
                    OutputOn<Partition, Exec, T> const& out) const {
      split(exec, in.in, out.values, out.left_count);
    }
    kernels::SegmentPartition<Exec, T, LessThanPivot<T>, kernels::WarpPartitionTuning<T>> split;
  };
};

template <class Variant>
void expect_right() {
  for (std::size_t const size : {0, 1, 31, 1023, 1024, 1025, 8192, 8193, 70001}) {
    for (double const pivot : {0.0, 0.9, -1000.0, 1000.0}) {
      for (std::int64_t const team : {0, 3}) {
        for (std::int64_t const tile : {0, 37}) {
          if (tile != 0 && size > 2000) continue;
          for_each_outcome(Variant{}, size, {{"pivot", pivot}, {"team", team}, {"tile", tile}}, 2, expect_passed);
        }
      }
    }
  }
}
TEST(PartitionOfGpus, SinglePass) { expect_right<PassAsOnGpu>(); }
TEST(PartitionOfGpus, SinglePassOfMany) { expect_right<PassOfMany>(); }
TEST(PartitionOfGpus, CompactionOfMany) { expect_right<CompactionOfMany>(); }
TEST(PartitionOfGpus, Lanes) {
  for (std::size_t const size : {0, 1, 31, 32, 33, 511, 513, 5003}) {
    for (std::int64_t const segment : {1, 2, 5, 16, 17, 31, 32, 33, 64, 100, 511, 512}) {
      for (double const pivot : {0.0, -1000.0, 1000.0}) {
        for_each_outcome(LanesAsOnGpu{}, size, {{"pivot", pivot}, {"segment", segment}}, 1, expect_passed);
      }
    }
  }
}
TEST(PartitionOfGpus, Chunked) { expect_right<ChunkedAsOnGpu>(); }

// Four lanes that hold two rows of packs, as on a GPU or on a host.
template <class T, bool as_warps>
struct SmallTuning : kernels::WarpPartitionTuning<T> {
  static constexpr int lanes = 4;
  static constexpr int rows = 2;
  static constexpr bool warps = as_warps;
  static constexpr int stores_in_flight = 2;
  template <class Exec>
  [[nodiscard]] static int ahead(Exec const&, std::size_t) {
    return 0;
  }
};

// Runs teams in every order of their threads, one after another in one scratch. The arrays and the scratch end at guard
// pages.
class WorstOrders {
 public:
  using T = float;
  using Space = test::AdversarialSpace;
  using IsLeft = LessThanPivot<T>;

  WorstOrders(int threads, std::size_t tile, std::size_t n, double pivot)
      : threads_(threads),
        tile_(tile),
        n_(n),
        team_(threads),
        in_(n + 1),
        values_(n + 1),
        scratch_(scratch_bytes()),
        expected_(n),
        is_left_(pivot) {
    T* const in = in_.last(n);
    for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<T>(i * 7 % 11 + i * i % 3);
    std::copy(in, in + n, expected_.begin());
    std::stable_partition(expected_.begin(), expected_.end(), is_left_);
    lefts_ = std::count_if(in, in + n, is_left_);
    from_ = in;
  }

  // The two launches of ReduceThenScatter.
  template <class Tuning>
  void reduce_then_scatter() {
    using Kernels = kernels::detail::ReduceThenScatterKernels<Space, T, IsLeft, Tuning>;
    kernels::Chunks const chunks = kernels::split(n_, tile_, 3);
    std::vector<std::int64_t> chunk_counts(static_cast<std::size_t>(chunks.count));
    for (test::Order const order : test::all_orders) {
      begin();
      bool const is_one_tile = n_ <= tile_;
      Kernels const kernels{is_left_, from_, to_,    &found_lefts_, chunk_counts.data(),
                            chunks,   tile_, part(), is_one_tile};
      auto const call = [&]<class Tag>(Tag tag) {
        run(order, chunks.count, [&](test::LeagueMember const& member) { kernels(tag, member); });
      };
      if (!is_one_tile) call(typename Kernels::CountTag{});
      call(typename Kernels::ScatterTag{});
      expect_right(n_, order);
    }
  }

  // The single pass, after the launch that counts.
  template <class Tuning, class Count, kernels::detail::RightOrder rights>
  void single_pass() {
    using kernels::detail::RightOrder;
    using Counter = kernels::detail::CountLefts<Space, T, IsLeft, Tuning>;
    using Pass = kernels::detail::LookBackSplitKernel<Space, T, IsLeft, Count, rights, Tuning>;
    using Exec = Kokkos::DefaultHostExecutionSpace;
    std::size_t const tiles = std::max<std::size_t>(1, tiles_of(n_, tile_));
    kernels::LookBackWorkspace<Exec, Count> look_back("look_back", tiles);
    if (rights == RightOrder::reversed) std::reverse(expected_.begin() + lefts_, expected_.end());
    std::int64_t total = 0;
    std::uint32_t finished = 0;
    for (test::Order const order : test::all_orders) {
      begin();
      if (rights == RightOrder::kept) {
        kernels::Chunks const chunks = kernels::split(n_, static_cast<std::size_t>(threads_) * Counter::part, 3);
        Counter const counter{is_left_, from_, &found_lefts_, &total, &finished, chunks};
        run(order, chunks.count, [&](test::LeagueMember const& member) { counter(member); });
        EXPECT_EQ(total, 0);  // the next launch needs a zero
        EXPECT_EQ(finished, 0u);
      }
      Pass const pass{is_left_, from_, to_, &found_lefts_, n_, tiles, tile_, part(), 0, look_back.next_launch(Exec())};
      run(order, static_cast<int>(tiles), [&](test::LeagueMember const& member) { pass(member); });
      expect_right(rights == RightOrder::none ? static_cast<std::size_t>(lefts_) : n_, order);
    }
    if (rights == RightOrder::reversed) std::reverse(expected_.begin() + lefts_, expected_.end());
  }

 private:
  [[nodiscard]] int part() const { return static_cast<int>(tiles_of(tile_, static_cast<std::size_t>(threads_))); }
  // The scratch of the kernels: a few numbers per thread, and a tile.
  [[nodiscard]] std::size_t scratch_bytes() const {
    std::size_t const numbers = static_cast<std::size_t>(threads_) * 16 + tiles_of(threads_ * 4, std::size_t{16}) * 16;
    return numbers + tiles_of(tile_ * sizeof(T), std::size_t{16}) * 16;
  }
  void begin() {
    to_ = values_.last(n_);
    found_lefts_ = -1;
  }
  template <class Body>
  void run(test::Order order, int league, Body const& body) {
    auto const bytes = static_cast<int>(scratch_bytes());
    // Once the memory behind it is protected, once the memory before it.
    char* const scratch =
        order == test::Order::descending ? scratch_.first(scratch_bytes()) : scratch_.last(scratch_bytes());
    std::optional<std::string> const error = team_.run(order, 1, [&](test::AdversarialTeam::Member const& member) {
      for (int rank = 0; rank < league; ++rank) body(test::LeagueMember(member, rank, scratch, bytes, league));
    });
    EXPECT_EQ(error.value_or(""), "");
  }
  void expect_right(std::size_t written, test::Order order) {
    EXPECT_EQ(found_lefts_, lefts_);
    EXPECT_TRUE(values_.untouched());
    EXPECT_TRUE(std::equal(to_, to_ + written, expected_.begin()))
        << n_ << ", tile " << tile_ << ", " << threads_ << " threads, " << name_of(order);
  }

  int threads_;
  std::size_t tile_;
  std::size_t n_;
  test::AdversarialTeam team_;
  test::GuardedArray<T> in_;
  test::GuardedArray<T> values_;
  test::GuardedArray<char> scratch_;
  std::vector<T> expected_;
  IsLeft is_left_;
  std::int64_t lefts_ = 0;
  std::int64_t found_lefts_ = 0;
  T const* from_ = nullptr;
  T* to_ = nullptr;
};

TEST(PartitionKernels, InOneScratchInAnyOrder) {
  for (int const threads : {1, 2, 3, 5}) {
    std::size_t const most = static_cast<std::size_t>(threads) * 2 * 4 * collective::pack_width<float>;
    for (std::size_t const tile : {most, std::size_t{7}}) {
      for (std::size_t const tiles : {0, 1, 2, 9}) {
        for (std::size_t const more : {0, 1, 4, 6}) {
          for (double const pivot : {5.0, -1.0}) {  // half of the elements, and none
            WorstOrders orders(threads, tile, tiles * tile + more, pivot);
            orders.reduce_then_scatter<SmallTuning<float, true>>();
            orders.reduce_then_scatter<SmallTuning<float, false>>();
            using kernels::detail::RightOrder;
            orders.single_pass<SmallTuning<float, true>, std::uint32_t, RightOrder::kept>();
            orders.single_pass<SmallTuning<float, false>, std::uint64_t, RightOrder::kept>();
            orders.single_pass<SmallTuning<float, true>, std::uint32_t, RightOrder::reversed>();
            orders.single_pass<SmallTuning<float, false>, std::uint64_t, RightOrder::reversed>();
            orders.single_pass<SmallTuning<float, true>, std::uint64_t, RightOrder::none>();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::partition
