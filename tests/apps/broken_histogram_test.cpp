// Wrong counts must be caught. The file also tests the 8-bit counters of lanes, which GPUs choose and hosts can run,
// and teams that run their threads in the worst order.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broken_rows.hpp"

#include "adversarial_cluster.hpp"
#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "guarded_array.hpp"

#include "../../apps/histogram/plan.hpp"
#include "../../apps/histogram/problem.hpp"

#include <tessera/kernels/cluster_histogram.hpp>
#include <tessera/kernels/histogram.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera::histogram {

App app();

namespace {

enum class Mistake { none, not_zeroed, hi_inside, lo_outside, loses_updates, outside_in_last, skips_tail };

// One thread counts, so that an update is lost every time.
template <class T>
struct WrongCounts {
  T const* in;
  std::size_t n;
  std::int64_t* counts;
  std::int64_t* outside;
  kernels::EqualBins<T> bins;
  T hi;
  Mistake mistake;

  KOKKOS_FUNCTION void operator()(int) const {
    if (mistake != Mistake::not_zeroed) {
      for (std::int32_t bin = 0; bin <= bins.count; ++bin) of(bin) = 0;
    }
    std::int64_t held = 0;  // a bin's count, read before the previous element was counted
    for (std::size_t i = 0; i < n; ++i) {
      std::int32_t bin = bins(in[i]);
      if (mistake == Mistake::hi_inside && in[i] == hi) bin = bins.count - 1;
      if (mistake == Mistake::lo_outside && bin == 0 && !(bins(static_cast<T>(in[i] - 1)) < bins.count))
        bin = bins.count;
      if (mistake == Mistake::outside_in_last && bin == bins.count) bin = bins.count - 1;
      if (mistake == Mistake::skips_tail && i >= n / 4 * 4) continue;
      if (mistake == Mistake::loses_updates) {
        if (i % 2 == 0) held = of(bin);
        if (i % 2 == 1 && bins(in[i - 1]) == bin) of(bin) = held;
      }
      ++of(bin);
    }
  }

 private:
  KOKKOS_FUNCTION std::int64_t& of(std::int32_t bin) const { return bin < bins.count ? counts[bin] : *outside; }
};

struct Wrong {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Histogram, Exec, T> const& in,
                  OutputOn<Histogram, Exec, T> const& out) const {
    Kokkos::parallel_for("tessera::tests::broken_histogram", Kokkos::RangePolicy<Exec>(exec, 0, 1),
                         WrongCounts<T>{in.in.data(), in.in.extent(0), out.counts.data(), out.outside.data(),
                                        in.parameters.template rule<T>(), static_cast<T>(in.parameters.hi), mistake});
  }
};

// Whole numbers from -8 to 24 around [0, 16), so that some lie on both ends.
class WholeNumbers final : public FieldSource {
 public:
  explicit WholeNumbers(std::size_t n) : n_(n) {}
  [[nodiscard]] Shape shape(FieldSpec const&) const override { return {n_}; }
  void read(FieldSpec const& spec, void* destination) const override {
    for (std::size_t i = 0; i < n_; ++i) {
      auto const value = static_cast<std::int32_t>(i * 7 % 33) - 8;
      switch (spec.dtype) {
        case DType::float32: static_cast<float*>(destination)[i] = static_cast<float>(value); break;
        case DType::float64: static_cast<double*>(destination)[i] = value; break;
        default: static_cast<std::int32_t*>(destination)[i] = value;
      }
    }
  }

 private:
  std::size_t n_;
};

ParameterMap const range{{"lo", 0.0}, {"hi", 16.0}, {"bins", std::int64_t{4}}};

template <class Tested>
std::string outcome_on_whole_numbers(Tested const& tested, std::size_t n, ParameterMap const& given, int runs = 1) {
  App const app = testing::app_with({testing::rows_of<Histogram>(tested)});
  std::string all;
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row)) continue;
    auto const problem_case = app.read(row.dtype, WholeNumbers(n), testing::with_defaults(app, given));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), runs);
    all += outcome.empty() ? std::string("passed ") : outcome + " ";
  }
  return all;
}

void expect_mistake(Mistake mistake, std::string const& field) {
  std::string const outcome = outcome_on_whole_numbers(Wrong{mistake}, 331, range, 2);
  EXPECT_EQ(outcome.find("passed"), std::string::npos) << outcome;
  EXPECT_NE(outcome.find(field), std::string::npos) << outcome;
}

TEST(BrokenHistogram, ThePathItselfIsRight) {
  EXPECT_EQ(outcome_on_whole_numbers(Wrong{Mistake::none}, 331, range, 2).find("run"), std::string::npos);
}
TEST(BrokenHistogram, NotZeroed) { expect_mistake(Mistake::not_zeroed, "counts"); }
TEST(BrokenHistogram, HiInside) { expect_mistake(Mistake::hi_inside, "counts"); }
TEST(BrokenHistogram, LoOutside) { expect_mistake(Mistake::lo_outside, "counts"); }
TEST(BrokenHistogram, OutsideInLast) { expect_mistake(Mistake::outside_in_last, "counts"); }
TEST(BrokenHistogram, SkipsTail) { expect_mistake(Mistake::skips_tail, "counts"); }
TEST(BrokenHistogram, LosesUpdates) {
  testing::expect_caught<Histogram>(Wrong{Mistake::loses_updates}, 1000, {{"distribution", std::string("constant")}},
                                    "counts");
}

// A float count stops at 2^24 and a 32-bit count becomes negative at 2^31: the verifier must notice both.
TEST(BrokenHistogram, CountsOfTooFewBits) {
  auto const differs = [](double truth, std::int64_t kept) {
    auto const value = std::make_shared<std::int64_t>(kept);
    HostField const actual{"counts", DType::int64, {1}, value};
    return !verify({.name = "counts", .shape = {1}, .value = {truth}, .scale = {}}, actual, 0).passed;
  };
  EXPECT_TRUE(differs(16777217, std::int64_t{1} << 24));
  EXPECT_TRUE(differs(0x1p31 + 5, static_cast<std::int32_t>(0x80000005u)));
  EXPECT_FALSE(differs(0x1p31 + 5, (std::int64_t{1} << 31) + 5));
}

// Mistake: 8-bit counters overflow because lanes are not flushed after 255 elements.
template <class Exec, class T>
struct BytesTuning : kernels::HistogramTuning<Exec, T> {
  using Counter = std::uint8_t;
  static constexpr int ahead = 0;
};

struct BytesOfLanes {
  static constexpr VariantInfo info{.name = "bytes_of_lanes", .summary = "lane_private as a GPU has it"};
  template <ExecutionSpace Exec, class T>
  using Plan =
      CountPlan<BytesOfLanes, Exec, T, kernels::LaneHistogram<Exec, T, kernels::EqualBins<T>, BytesTuning<Exec, T>>>;
};

TEST(HistogramKernels, BytesOfLanes) {
  App const app = testing::app_with({rows<Histogram, BytesOfLanes>()});
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row)) continue;
    for (char const* const distribution : {"uniform", "zipf", "constant"}) {
      for (std::int64_t const bins : {1, 3, 4, 5, 256, 257, 1000}) {
        for (std::int64_t const team : {0, 2, 4}) {
          for (std::size_t const n : {0, 1, 127, 2041, 30013}) {
            ParameterMap const map{{"bins", bins}, {"team", team}, {"distribution", std::string(distribution)}};
            auto const problem_case = app.generate(row.dtype, n, 3, testing::with_defaults(app, map));
            std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 2);
            if (outcome.starts_with("skipped: ")) continue;
            EXPECT_EQ(outcome, "") << testing::name_of(app, row) << " " << n << " " << distribution << " bins " << bins
                                   << " team " << team;
          }
        }
      }
    }
  }
}

// Slices of bins, which a GPU's teams share if scratch cannot hold all bins.
template <class Exec, class T>
struct SlicesTuning : kernels::HistogramTuning<Exec, T> {
  static constexpr int most_slices = 24;
  static constexpr int ahead = 0;
  static constexpr int scratch_level = 0;
};

struct Slices {
  static constexpr VariantInfo info{.name = "slices", .summary = "scratch_atomic of many bins as a GPU has it"};
  template <ExecutionSpace Exec, class T>
  using Plan =
      CountPlan<Slices, Exec, T, kernels::ScratchHistogram<Exec, T, kernels::EqualBins<T>, SlicesTuning<Exec, T>>>;
};

TEST(HistogramKernels, SlicesOfBins) {
  App const app = testing::app_with({rows<Histogram, Slices>()});
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row)) continue;
    for (char const* const distribution : {"uniform", "zipf", "constant"}) {
      for (std::int64_t const bins : {8000, 8064, 16127, 16128, 65536}) {
        for (std::int64_t const team : {0, 2}) {
          for (std::int64_t const tile : {0, 30000}) {
            ParameterMap const map{
                {"bins", bins}, {"team", team}, {"tile", tile}, {"distribution", std::string(distribution)}};
            auto const problem_case = app.generate(row.dtype, 100003, 3, testing::with_defaults(app, map));
            std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 2);
            if (outcome.starts_with("skipped: a team of ")) continue;
            EXPECT_EQ(outcome, "") << testing::name_of(app, row) << " " << distribution << " bins " << bins << " team "
                                   << team << " tile " << tile;
          }
        }
      }
    }
    auto const too_many =
        app.generate(row.dtype, 10, 3, testing::with_defaults(app, {{"bins", std::int64_t{1} << 20}}));
    EXPECT_TRUE(testing::run_row(row, *too_many, too_many->reference(), 1).starts_with("skipped: 1048576 bins"));
  }
}

// Hosts have scratch for every number of bins that --bins accepts, whatever the processor's caches.
TEST(HistogramKernels, HostsHaveScratchForEveryBin) {
  for (Row const& row : app().rows) {
    if (!testing::is_wanted(row) || row.info.name != "scratch_atomic" || !is_host_space(row.space)) continue;
    auto const problem_case =
        app().generate(row.dtype, 100003, 3, testing::with_defaults(app(), {{"bins", std::int64_t{1} << 20}}));
    EXPECT_EQ(testing::run_row(row, *problem_case, problem_case->reference(), 2), "") << testing::name_of(app(), row);
  }
}

// Small chunks, many per team on hosts: counts of one chunk must not mix with counts of the next.
TEST(HistogramKernels, ChunksInTheSameScratch) {
  for (Row const& row : app().rows) {
    if (!testing::is_wanted(row)) continue;
    for (auto const& [bins, tile] : {std::pair<std::int64_t, std::int64_t>{5, 1000}, {1500, 1000}}) {
      ParameterMap const map{{"bins", bins}, {"team", std::int64_t{4}}, {"tile", tile}};
      auto const problem_case = app().generate(row.dtype, 30001, 3, testing::with_defaults(app(), map));
      std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), testing::repeats(5));
      if (outcome.starts_with("skipped: ")) continue;
      EXPECT_EQ(outcome, "") << testing::name_of(app(), row) << " bins " << bins;
    }
  }
}

// Threads of one team count the same value in the same scratch, for long enough to run at the same time: a host's
// thread counts 2 million elements in less time than another thread needs to wake up.
TEST(HistogramKernels, ThreadsInTheSameScratch) {
  for (App const& of : {app(), testing::app_with({rows<Histogram, BytesOfLanes>()})}) {
    for (Row const& row : of.rows) {
      if (!testing::is_wanted(row)) continue;
      for (std::int64_t const team : {2, 4}) {
        ParameterMap const map{{"team", team}, {"distribution", std::string("constant")}};
        std::size_t const n = row.info.name == "scratch_atomic" ? 20000003 : 2000003;
        auto const problem_case = of.generate(row.dtype, n, 3, testing::with_defaults(of, map));
        std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 8);
        if (outcome.starts_with("skipped: ")) continue;
        EXPECT_EQ(outcome, "") << testing::name_of(of, row) << " team " << team;
      }
    }
  }
}

// Parts of 16 elements: four lanes with two rows of packs of two, as on a GPU; or bins that are computed `Ahead`
// elements in advance, as on hosts.
template <class CounterOfLane, int Ahead>
struct SmallTuning {
  static constexpr int lanes = 4;
  static constexpr int rows = 2;
  static constexpr int pack = 2;
  static constexpr int ahead = Ahead;
  static constexpr int scratch_level = 0;
  using Counter = CounterOfLane;
};

// Processes a kernel's chunks by teams in every order of their threads, one team after another in one scratch. The
// elements and the scratch end at guard pages. The kernel chooses `copies` of the counters and `slices` of bins.
template <template <ExecutionSpace, class, class, class> class KernelOf, class Counter, int Ahead>
void expect_right_in_any_order(int threads, int copies, int slices, std::int64_t bins, std::size_t n) {
  using Bins = kernels::EqualBins<float>;
  using Kernel = KernelOf<test::AdversarialSpace, float, Bins, SmallTuning<Counter, Ahead>>;
  test::GuardedArray<float> of_in(n + 1);
  float* const in = of_in.last(n);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<float>(i * 7 % 23) / 10.0F;  // some are outside the range
  Bins const rule(0, 2, bins);
  std::vector<std::int64_t> expected(static_cast<std::size_t>(bins) + 1);
  for (std::size_t i = 0; i < n; ++i) ++expected[static_cast<std::size_t>(rule(in[i]))];
  kernels::Chunks const chunks = kernels::split(n, static_cast<std::size_t>(threads * Kernel::part), 5);
  kernels::detail::HistogramShape const shape{threads, copies, chunks, slices};
  std::size_t const bytes = (Kernel::scratch_bytes(static_cast<std::int32_t>(bins), shape) + 15) / 16 * 16;
  test::GuardedArray<char> of_scratch(bytes);
  test::AdversarialTeam team(threads);
  for (test::Order const order : test::all_orders) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(bins) + 1, -1);
    std::vector<std::int64_t> totals(counts.size());
    std::uint32_t finished = 0;
    Kernel const kernel{in,
                        {totals.data(), &finished, counts.data(), &counts.back(), static_cast<std::int32_t>(bins),
                         static_cast<std::uint32_t>(chunks.count * slices)},
                        rule,
                        shape};
    char* const scratch = of_scratch.last(bytes);
    std::optional<std::string> const error = team.run(order, 1, [&](test::AdversarialTeam::Member const& member) {
      for (int rank = 0; rank < chunks.count * slices; ++rank) {
        kernel(test::LeagueMember(member, rank, scratch, static_cast<int>(bytes)));
      }
    });
    EXPECT_EQ(error.value_or(""), "");
    EXPECT_EQ(totals, std::vector<std::int64_t>(totals.size())) << "as the next launch needs it";
    EXPECT_EQ(finished, 0u);
    EXPECT_EQ(counts, expected) << n << " in " << slices << " slices of " << bins << " bins by " << threads
                                << " threads, " << name_of(order);
  }
}

TEST(HistogramKernels, InOneScratchInAnyOrder) {
  for (int const threads : {1, 2, 3, 5}) {
    for (std::int64_t const bins : {1, 4, 5, 20}) {
      for (std::size_t const n : {0, 1, 15, 16, 100, 1003, 12000}) {
        for (int copies = 1; copies <= (threads + 1) / 2; ++copies) {
          for (int const slices : {1, 2, 3, 4}) {
            expect_right_in_any_order<kernels::detail::ScratchHistogramKernel, std::uint32_t, 0>(threads, copies,
                                                                                                 slices, bins, n);
          }
        }
        expect_right_in_any_order<kernels::detail::LaneHistogramKernel, std::uint8_t, 0>(threads, threads, 1, bins, n);
        expect_right_in_any_order<kernels::detail::LaneHistogramKernel, std::uint32_t, 0>(threads, threads, 1, bins, n);
      }
    }
  }
}

// As hosts count: a single thread has up to 8 copies of the counters.
template <int Ahead>
void expect_right_ahead_in_any_order() {
  for (int const threads : {1, 2, 3, 5}) {
    for (std::int64_t const bins : {1, 4, 5, 20}) {
      for (std::size_t const n : {0, 1, 15, 16, 31, 32, 47, 48, 49, 63, 64, 65, 79, 80, 100, 321, 1003, 12000}) {
        for (int copies = 1; copies <= (threads > 1 ? (threads + 1) / 2 : 8); ++copies) {
          expect_right_in_any_order<kernels::detail::ScratchHistogramKernel, std::uint32_t, Ahead>(threads, copies, 1,
                                                                                                   bins, n);
        }
        expect_right_in_any_order<kernels::detail::LaneHistogramKernel, std::uint32_t, Ahead>(threads, threads, 1, bins,
                                                                                              n);
      }
    }
  }
}

TEST(HistogramKernels, AheadInOneScratchInAnyOrder) {
  expect_right_ahead_in_any_order<16>();
  expect_right_ahead_in_any_order<48>();
}

// The binning rule itself, at the ends of the range and of the dtype.
TEST(HistogramBins, Ends) {
  kernels::EqualBins<float> const of_float(-1, 1, 4);
  EXPECT_EQ(of_float(-1.0f), 0);
  EXPECT_EQ(of_float(-0.0f), 2);
  EXPECT_EQ(of_float(std::nextafter(1.0f, 0.0f)), 3);
  EXPECT_EQ(of_float(1.0f), 4);
  EXPECT_EQ(of_float(std::nextafter(-1.0f, -2.0f)), 4);
  EXPECT_EQ(of_float(std::numeric_limits<float>::quiet_NaN()), 4);
  EXPECT_EQ(of_float(std::numeric_limits<float>::infinity()), 4);
  EXPECT_EQ(of_float(-std::numeric_limits<float>::infinity()), 4);
}

TEST(HistogramBins, IntegersExactlyAsByDivision) {
  constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (auto const& [lo, hi] : {std::pair{least, most + 1}, std::pair{least, least + 1}, std::pair{most, most + 1},
                               std::pair<std::int64_t, std::int64_t>{-3, 95}, std::pair{least + 5, most - 77},
                               std::pair<std::int64_t, std::int64_t>{0, 1000003}}) {
    for (std::int64_t const bins : {1, 2, 3, 7, 255, 256, 257, 65536, 1048575, 1048576}) {
      kernels::EqualBins<std::int32_t> const of(static_cast<double>(lo), static_cast<double>(hi), bins);
      auto const expect = [&](std::int64_t x) {
        if (x < least || x > most) return;
        auto const bin = static_cast<std::int32_t>(x < lo || x >= hi ? bins : (x - lo) * bins / (hi - lo));
        ASSERT_EQ(of(static_cast<std::int32_t>(x)), bin) << x << " in " << bins << " bins of " << lo << ", " << hi;
      };
      for (std::int64_t const end : {lo, hi, least, most}) {
        for (std::int64_t x = end - 2; x <= end + 2; ++x) expect(x);
      }
      for (std::int64_t b = 0; b < bins; b += 1 + bins / 1000) {  // around the edges
        std::int64_t const edge = lo + b * (hi - lo) / bins;
        for (std::int64_t x = edge - 1; x <= edge + 2; ++x) expect(x);
      }
    }
  }
}

// Runs the kernel under the model of a cluster. Cluster barrier number `weak` is only a team's; -1: none is.
// Returns what is wrong, or an empty string.
std::string outcome_on_clusters(int teams, int threads, std::int64_t bins, std::size_t n, test::Order team_order,
                                test::Order order, int weak) {
  using Bins = kernels::EqualBins<float>;
  using Kernel =
      kernels::detail::ClusterHistogramKernel<test::AdversarialSpace, float, Bins, SmallTuning<std::uint32_t, 0>>;
  test::GuardedArray<float> of_in(n + 1);
  float* const in = of_in.last(n);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<float>(i * 7 % 23) / 10.0F;  // some are outside the range
  Bins const rule(0, 2, bins);
  std::vector<std::int64_t> expected(static_cast<std::size_t>(bins) + 1);
  for (std::size_t i = 0; i < n; ++i) ++expected[static_cast<std::size_t>(rule(in[i]))];
  kernels::Chunks const chunks = kernels::split(n, static_cast<std::size_t>(teams * threads * Kernel::part), 3);
  test::AdversarialCluster cluster(teams, threads, Kernel::scratch_bytes(static_cast<std::int32_t>(bins), teams));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(bins) + 1, -1);
  std::vector<std::int64_t> totals(counts.size());
  std::uint32_t finished = 0;
  Kernel const kernel{in,
                      {totals.data(), &finished, counts.data(), &counts.back(), static_cast<std::int32_t>(bins),
                       static_cast<std::uint32_t>(chunks.count * teams)},
                      rule,
                      chunks};
  for (int i = 0; i < chunks.count; ++i) {
    auto const run = [&](test::AdversarialCluster::Member const& team) { kernel(test::WeakBarrierMember(team, weak)); };
    if (auto const error = cluster.run(team_order, order, run, i, chunks.count)) return *error;
  }
  if (counts != expected) return "wrong counts";
  return totals == std::vector<std::int64_t>(totals.size()) && finished == 0 ? "" : "not ready for the next launch";
}

TEST(HistogramKernels, OnClustersInAnyOrder) {
  for (int const teams : {1, 2, 4, 8}) {
    for (int const threads : {1, 3}) {
      for (std::int64_t const bins : {1, 2, 7, 8, 20}) {
        for (std::size_t const n : {0, 1, 16, 1003, 5000}) {
          for (test::Order const team_order : test::team_orders) {
            for (test::Order const order : test::all_orders) {
              EXPECT_EQ(outcome_on_clusters(teams, threads, bins, n, team_order, order, -1), "")
                  << n << " in " << bins << " bins by " << teams << " teams of " << threads;
            }
          }
        }
      }
    }
  }
}

// Zeros must come before any count, and all counts before the first sum.
TEST(HistogramKernels, EachBarrierOfAClusterIsNecessary) {
  for (int const weak : {0, 1}) {
    for (int const teams : {2, 8}) {
      std::string all;
      for (test::Order const team_order : test::team_orders) {
        all += outcome_on_clusters(teams, 2, 20, 5000, team_order, test::Order::ascending, weak) + "\n";
      }
      EXPECT_NE(all.find("wrong counts"), std::string::npos) << weak << " of " << teams << " teams: " << all;
    }
  }
}

}  // namespace
}  // namespace tessera::histogram
