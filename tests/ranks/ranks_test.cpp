// The ranks: what they say to each other, and rows that run on several of them. ctest starts this program with 1, 2, 3, 4
// and 7 ranks. All of them run every test in the same order: nothing may end a test early on one rank alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../apps/dot/problem.hpp"
#include "../../apps/histogram/problem.hpp"
#include "../../apps/prefix_sum/problem.hpp"
#include "../apps/harness.hpp"

#include <tessera/ranks/part.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera {

namespace map {
App app();
}
namespace zip {
App app();
}
namespace map_2d {
App app();
}
namespace broadcast_add {
App app();
}
namespace embedding {
App app();
}
namespace dot {
App app();
}
namespace histogram {
App app();
}
namespace prefix_sum {
App app();
}

namespace {

using ranks::Block;
using ranks::block_of;
using ranks::Message;
using ranks::owner_of;
using ranks::Ranks;

Ranks const& world() { return ranks::world(); }

TEST(Blocks, FollowEachOtherAndDifferByOne) {
  for (std::size_t const n : {0, 1, 2, 5, 6, 7, 8, 100, 1000003}) {
    for (int const count : {1, 2, 3, 4, 7, 16}) {
      std::size_t end = 0;
      for (int rank = 0; rank < count; ++rank) {
        Block const block = block_of(n, count, rank);
        EXPECT_EQ(block.begin, end);
        EXPECT_GE(block.size(), n / static_cast<std::size_t>(count));
        EXPECT_LE(block.size(), n / static_cast<std::size_t>(count) + 1);
        for (std::size_t const i : {block.begin, block.end - 1}) {
          if (block.size() > 0) {
            EXPECT_EQ(owner_of(i, n, count), rank) << i << " of " << n;
          }
        }
        end = block.end;
      }
      EXPECT_EQ(end, n);
    }
  }
  EXPECT_EQ(block_of(10, 4, 2), (Block{6, 8}));
}

TEST(Ranks, GatherInOrder) {
  std::vector<int> const all = world().all_gather(100 + world().rank());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(world().count()));
  for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], 100 + static_cast<int>(r));
  std::vector<std::string> const texts =
      world().all_gather(std::string(static_cast<std::size_t>(world().rank()) * 3, 'x'));
  for (std::size_t r = 0; r < texts.size(); ++r) EXPECT_EQ(texts[r].size(), 3 * r);
}

TEST(Ranks, FoldInOrder) {
  auto const join = [](std::int64_t a, std::int64_t b) { return 10 * a + b; };  // does not commute
  std::int64_t all = 1;
  std::int64_t before = 0;
  for (int r = 1; r < world().count(); ++r) all = join(all, r + 1);
  for (int r = 0; r < world().rank(); ++r) before = join(before, r + 1);
  EXPECT_EQ(world().fold(static_cast<std::int64_t>(world().rank() + 1), join), all);
  EXPECT_EQ(world().fold_before(static_cast<std::int64_t>(world().rank() + 1), std::int64_t{0}, join), before);
}

TEST(Ranks, SumArraysLongerThanAMessage) {
  std::vector<std::int32_t> whole(10007);
  std::iota(whole.begin(), whole.end(), world().rank());
  whole[3] = 2000000000;  // two of them wrap
  world().sum(std::span(whole));
  auto const count = static_cast<std::uint32_t>(world().count());
  EXPECT_EQ(static_cast<std::uint32_t>(whole[3]), count * 2000000000U);
  EXPECT_EQ(static_cast<std::uint32_t>(whole[10006]), count * 10006U + count * (count - 1) / 2);
  std::vector<double> real(5, 0.5);
  world().sum(std::span(real));
  EXPECT_EQ(real[4], 0.5 * count);
}

// A message of every rank to every rank, itself included, none of a length, one in parts.
TEST(Ranks, ExchangeWithEveryRank) {
  auto const count = static_cast<std::size_t>(world().count());
  auto const own = static_cast<std::size_t>(world().rank());
  auto const length = [](std::size_t from, std::size_t to) { return (from * 5 + to * 7) % 4 * 1000; };
  std::vector<std::vector<std::uint32_t>> out(count);
  std::vector<std::vector<std::uint32_t>> in(count);
  std::vector<Message> sent;
  std::vector<Message> received;
  for (std::size_t r = 0; r < count; ++r) {
    out[r].assign(length(own, r), static_cast<std::uint32_t>(own * 100 + r));
    in[r].assign(length(r, own), 0);
    sent.push_back({static_cast<int>(r), out[r].data(), out[r].size() * 4});
    received.push_back({static_cast<int>(r), in[r].data(), in[r].size() * 4});
  }
  world().exchange(sent, received);
  for (std::size_t r = 0; r < count; ++r) {
    EXPECT_TRUE(std::ranges::all_of(in[r], [&](std::uint32_t value) { return value == r * 100 + own; })) << r;
  }
}

TEST(Ranks, WhatOneThrowsAllThrow) {
  int const last = world().count() - 1;
  std::string text;
  try {
    ranks::together(world(), [&] {
      if (world().rank() == last) throw UserError("no such file");
    });
  } catch (UserError const& error) {
    text = error.what();
  }
  EXPECT_EQ(text, world().count() == 1 ? "no such file" : "rank " + std::to_string(last) + ": no such file");
  text.clear();
  try {
    ranks::together(world(), [] { throw std::runtime_error("of all"); });
  } catch (UserError const&) {
    text = "the user's";
  } catch (std::runtime_error const& error) {
    text = error.what();
  }
  EXPECT_EQ(text, "of all");
  EXPECT_NO_THROW(ranks::together(world(), [] {}));
}

TEST(Ranks, CountWhatIsSaid) {
  ranks::Traffic const before = world().traffic();
  (void)world().all_gather(std::uint64_t{1});
  bool const several = world().count() > 1;
  EXPECT_EQ(world().traffic().bytes - before.bytes, several ? 8U : 0U);
  EXPECT_EQ(world().traffic().messages - before.messages, several ? 1U : 0U);
}

// What is wrong with the rows of level `ranks` on this input, on any rank; empty if nothing.
std::string outcome_of(App const& app, std::size_t size, DataKind data, ParameterMap const& given, int launches = 2) {
  std::string outcome;
  for (Row const& row : app.rows) {
    if (row.info.level != Level::ranks) continue;
    auto const problem_case = app.generate_data(row.dtype, size, 42, data, testing::with_defaults(app, given));
    std::vector<ExpectedField> const expected = problem_case->reference();
    std::string const own = testing::run_row(row, *problem_case, expected, launches);
    for (std::string const& of_rank : world().all_gather(own)) {
      if (!of_rank.empty())
        outcome += testing::name_of(app, row) + " of " + std::to_string(size) + ": " + of_rank + "\n";
    }
  }
  return outcome;
}

constexpr std::size_t sizes[] = {0, 1, 2, 3, 5, 6, 7, 8, 64, 1000, 10007, 70001};

void expect_right(App const& app, std::vector<ParameterMap> const& parameters) {
  EXPECT_TRUE(app.distributed);
  for (ParameterMap const& given : parameters) {
    for (std::size_t const size : sizes) {
      for (DataKind const data : app.data) EXPECT_EQ(outcome_of(app, size, data, given), "");
    }
  }
}

TEST(RowsOnRanks, Map) { expect_right(map::app(), {{}}); }
TEST(RowsOnRanks, Zip) { expect_right(zip::app(), {{}}); }
TEST(RowsOnRanks, Map2d) { expect_right(map_2d::app(), {{}, {{"rows", std::int64_t{1}}}}); }
TEST(RowsOnRanks, BroadcastAdd) { expect_right(broadcast_add::app(), {{}, {{"rows", std::int64_t{1}}}}); }
TEST(RowsOnRanks, Embedding) { expect_right(embedding::app(), {{}}); }
TEST(RowsOnRanks, Dot) { expect_right(dot::app(), {{}}); }
TEST(RowsOnRanks, Histogram) { expect_right(histogram::app(), {{}, {{"bins", std::int64_t{1}}}}); }
TEST(RowsOnRanks, PrefixSum) {
  std::vector<ParameterMap> parameters;
  for (char const* const op : {"sum", "max", "min"}) {
    for (bool const exclusive : {false, true}) {
      for (std::int64_t const segment : {0, 1, 3, 1000, 40000}) {
        parameters.push_back({{"op", std::string(op)}, {"exclusive", exclusive}, {"segment", segment}});
      }
    }
  }
  expect_right(prefix_sum::app(), parameters);
}

// A scan over ranks with a mistake. Each rank scans its block serially.
enum class Mistake {
  none,
  keeps_to_itself,  // nothing from other ranks
  includes_itself,  // an inclusive scan over the ranks
  takes_neighbour,  // the total of the rank before only
  swaps_ranks,      // of the ranks in the opposite order
  stale             // what the launch before was told
};

template <Mistake mistake>
struct BrokenScan {
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<prefix_sum::PrefixSum, Exec, T> const&, ranks::Part const& part) : ranks(part.ranks) {}

    void operator()(Exec const& exec, InputOn<prefix_sum::PrefixSum, Exec, T> const& input,
                    OutputOn<prefix_sum::PrefixSum, Exec, T> const& output) {
      auto const in = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.in);
      auto const out = Kokkos::create_mirror_view(output.out);
      T total = 0;
      for (std::size_t i = 0; i < in.extent(0); ++i) total += in(i);
      std::vector<T> const all = ranks.all_gather(total);
      T sum = before(all);
      for (std::size_t i = 0; i < in.extent(0); ++i) out(i) = sum += in(i);
      Kokkos::deep_copy(exec, output.out, out);
      exec.fence();
    }

    [[nodiscard]] T before(std::vector<T> const& totals) {
      auto const own = static_cast<std::size_t>(ranks.rank());
      T sum = 0;
      std::size_t const end = mistake == Mistake::includes_itself ? own + 1 : own;
      for (std::size_t r = mistake == Mistake::swaps_ranks ? own + 1 : 0;
           r < (mistake == Mistake::swaps_ranks ? totals.size() : end); ++r) {
        if (mistake == Mistake::takes_neighbour && r + 1 != own) continue;
        sum += totals[r];
      }
      if (mistake == Mistake::keeps_to_itself) sum = 0;
      if (mistake == Mistake::stale) std::swap(sum, told);
      return sum;
    }

    ranks::Ranks const& ranks;
    T told = 0;
  };
};

template <Mistake mistake>
std::string outcome_of_broken(std::size_t size) {
  App const app = make_app<prefix_sum::PrefixSum>({rows<prefix_sum::PrefixSum, BrokenScan<mistake>>()});
  // One launch: after it a rank that found its part wrong would leave the others alone.
  return outcome_of(app, size, app.data.front(), {}, 1);
}

TEST(BrokenScan, IsRightWithoutAMistake) { EXPECT_EQ(outcome_of_broken<Mistake::none>(10007), ""); }
TEST(BrokenScan, KeepsToItself) {
  if (world().count() > 1) {
    EXPECT_NE(outcome_of_broken<Mistake::keeps_to_itself>(10007), "");
  }
}
TEST(BrokenScan, IncludesItself) { EXPECT_NE(outcome_of_broken<Mistake::includes_itself>(10007), ""); }
TEST(BrokenScan, TakesNeighbour) {
  if (world().count() > 2) {
    EXPECT_NE(outcome_of_broken<Mistake::takes_neighbour>(10007), "");
  }
}
TEST(BrokenScan, SwapsRanks) {
  if (world().count() > 1) {
    EXPECT_NE(outcome_of_broken<Mistake::swaps_ranks>(10007), "");
  }
}
TEST(BrokenScan, Stale) {
  if (world().count() > 1) {
    EXPECT_NE(outcome_of_broken<Mistake::stale>(10007), "");
  }
}

// A rank's own sum instead of that of all.
struct OwnDot {
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<dot::Dot, Exec, T> const&, ranks::Part const&) {}
    void operator()(Exec const& exec, InputOn<dot::Dot, Exec, T> const& input,
                    OutputOn<dot::Dot, Exec, T> const& output) const {
      auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.a);
      auto const b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.b);
      T sum = 0;
      for (std::size_t i = 0; i < a.extent(0); ++i) sum += a(i) * b(i);
      Kokkos::deep_copy(exec, output.out, sum);
      exec.fence();
    }
  };
};

TEST(BrokenDot, OwnSumOnly) {
  App const app = make_app<dot::Dot>({rows<dot::Dot, OwnDot>()});
  bool const caught = !outcome_of(app, 10007, app.data.front(), {}, 1).empty();
  EXPECT_EQ(caught, world().count() > 1);
}

// Rows for one rank say so, on several.
TEST(RowsOfOneRank, AreSkippedOnSeveral) {
  App const app = map::app();
  for (Row const& row : app.rows) {
    if (row.info.level == Level::ranks) continue;
    auto const problem_case = app.generate(row.dtype, 1000, 1, testing::with_defaults(app, {}));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_EQ(outcome.starts_with("skipped: it runs on one rank"), world().count() > 1) << outcome;
  }
}

}  // namespace
}  // namespace tessera
