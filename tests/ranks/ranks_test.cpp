// Communication between ranks. ctest starts this program, which also contains the rows of tests/ranks/rows, with 1, 2,
// 3, 4 and 7 ranks. All ranks run every test in the same order, so no test may end early on only some ranks.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <tessera/ranks/agreement.hpp>
#include <tessera/ranks/halo.hpp>
#include <tessera/ranks/ordered_reduction.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/ranks/transport.hpp>

namespace tessera {

namespace {

using ranks::Block;
using ranks::block_of;
using ranks::Halo;
using ranks::Message;
using ranks::owner_of;
using ranks::Ranks;
using ranks::Reach;

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

// Blocks must not be read before they are ready, and must be complete when they are reported as arrived.
TEST(Ranks, ExchangeInBlocks) {
  auto const ranks = static_cast<std::size_t>(world().count());
  for (std::size_t const longest : {1, 3, 64, 100000}) {
    std::vector<std::vector<unsigned char>> out(ranks);
    std::vector<std::vector<unsigned char>> in(ranks);
    std::vector<Message> sent;
    std::vector<Message> received;
    auto const length = [&](std::size_t from, std::size_t to) { return 7 * from + 3 * to; };
    auto const value = [](std::size_t from, std::size_t to, std::size_t i) {
      return static_cast<unsigned char>(1 + (31 * from + 7 * to + i) % 255);
    };
    auto const own = static_cast<std::size_t>(world().rank());
    for (std::size_t r = 0; r < ranks; ++r) {
      if (r == own) continue;
      out[r].assign(length(own, r), 0);  // not yet the data to be sent
      in[r].assign(length(r, own), 0);
      sent.push_back({static_cast<int>(r), out[r].data(), out[r].size()});
      received.push_back({static_cast<int>(r), in[r].data(), in[r].size()});
    }
    ranks::Exchange exchange(world());
    std::size_t next = 0;
    std::size_t arrived = 0;
    exchange.in_blocks(
        sent, received, longest,
        [&](std::size_t k) {
          EXPECT_EQ(k, next++);
          ranks::MessageBlock const block = exchange.sent_block(k);
          EXPECT_LE(block.end - block.begin, longest);
          auto const to = static_cast<std::size_t>(sent[block.message].rank);
          for (std::size_t i = block.begin; i < block.end; ++i) out[to][i] = value(own, to, i);
        },
        [&](ranks::MessageBlock const& block) {
          auto const from = static_cast<std::size_t>(received[block.message].rank);
          for (std::size_t i = block.begin; i < block.end; ++i, ++arrived) {
            EXPECT_EQ(in[from][i], value(from, own, i)) << "byte " << i << " of " << from;
          }
        });
    EXPECT_EQ(next, exchange.sent_blocks());
    std::size_t all = 0;
    for (std::vector<unsigned char> const& one : in) all += one.size();
    EXPECT_EQ(arrived, all);
  }
}

TEST(Transport, IsWhatWasAskedFor) {
  using ranks::Transport;
  ranks::choose_transport("staged", false);
  EXPECT_EQ(ranks::transport(true), Transport::staged);
  EXPECT_EQ(ranks::transport(false), Transport::staged);
  ranks::choose_transport("auto", true);
  EXPECT_EQ(ranks::transport(false), Transport::host);
  EXPECT_NE(ranks::transport(true), Transport::nccl) << "NCCL refuses ranks that share a GPU";
  if (!ranks::has_nccl()) {
    EXPECT_THROW(ranks::choose_transport("nccl", false), UserError);
  }
  EXPECT_THROW(ranks::choose_transport("nccl", true), UserError);
  if (!ranks::mpi_is_gpu_aware().value_or(false)) {
    EXPECT_THROW(ranks::choose_transport("device", false), UserError);
  }
  ranks::choose_transport("auto", false);
}

TEST(Ranks, GatherInOrder) {
  std::vector<int> const all = world().all_gather(100 + world().rank());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(world().count()));
  for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], 100 + static_cast<int>(r));
  std::vector<std::string> const texts =
      world().all_gather(std::string(static_cast<std::size_t>(world().rank()) * 3, 'x'));
  for (std::size_t r = 0; r < texts.size(); ++r) EXPECT_EQ(texts[r].size(), 3 * r);
  for (std::size_t const n : {0, 1, 2001}) {
    std::vector<std::vector<int>> const arrays = world().all_gather(std::vector<int>(n, 7 + world().rank()));
    EXPECT_EQ(arrays.size(), all.size());
    for (std::size_t r = 0; r < arrays.size(); ++r) EXPECT_EQ(arrays[r], std::vector<int>(n, 7 + static_cast<int>(r)));
  }
}

TEST(Ranks, FoldInOrder) {
  auto const join = [](std::int64_t a, std::int64_t b) { return 10 * a + b; };  // not commutative
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
  whole[3] = 2000000000;  // the sum of two wraps
  world().sum(std::span(whole));
  auto const count = static_cast<std::uint32_t>(world().count());
  EXPECT_EQ(static_cast<std::uint32_t>(whole[3]), count * 2000000000U);
  EXPECT_EQ(static_cast<std::uint32_t>(whole[10006]), count * 10006U + count * (count - 1) / 2);
  std::vector<double> real(5, 0.5);
  world().sum(std::span(real));
  EXPECT_EQ(real[4], 0.5 * count);
}

// The sum depends on the order: rank 1 has the largest numbers, and rank 2 has their negatives.
TEST(OrderedReduction, AddsInTheOrderOfTheRanksAndAgain) {
  for (std::size_t const n : {0, 1, 2, 3, 6, 1000, 10007}) {
    ranks::OrderedReduction<float> const sum(world(), n);
    auto const value = [](std::size_t i, int rank) {
      float const small = 1.0F + static_cast<float>(i % 97) / 128.0F + static_cast<float>(rank);
      return rank == 1 ? 3e7F + small : rank == 2 ? -3e7F : small;
    };
    std::span<float> const values = sum.values();
    EXPECT_EQ(values.size(), n);
    for (int again = 0; again < 2; ++again) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = value(i + static_cast<std::size_t>(again), world().rank());
      sum.reduce();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        float expected = value(i + static_cast<std::size_t>(again), 0);
        for (int r = 1; r < world().count(); ++r) expected += value(i + static_cast<std::size_t>(again), r);
        if (values[i] != expected) ++wrong;
      }
      EXPECT_EQ(wrong, 0U) << n;
    }
  }
  ranks::OrderedReduction<std::int32_t> const wraps(world(), 5);
  std::ranges::fill(wraps.values(), 2000000000);
  wraps.reduce();
  EXPECT_EQ(static_cast<std::uint32_t>(wraps.values()[4]), static_cast<std::uint32_t>(world().count()) * 2000000000U);
}

// Each rank sends a message to every rank including itself: one without content, one in several parts.
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

// A ring exchange with another operation in between. An exchange that is never waited for ends with its object.
TEST(Ranks, ExchangeWhileSomethingElseIsDone) {
  int const count = world().count();
  int const to = (world().rank() + 1) % count;
  int const from = (world().rank() + count - 1) % count;
  std::vector<std::uint32_t> out(2001, static_cast<std::uint32_t>(world().rank()));
  std::vector<std::uint32_t> in(2001, 12345);
  {
    ranks::Exchange under_way(world());
    under_way.begin({{to, out.data(), out.size() * 4}}, {{from, in.data(), in.size() * 4}});
    EXPECT_EQ(world().max(1.5), 1.5);
    under_way.wait();
    EXPECT_TRUE(std::ranges::all_of(in, [&](std::uint32_t value) { return static_cast<int>(value) == from; }));
    under_way.wait();  // waiting again has no effect
  }
  std::ranges::fill(in, 12345);
  {
    ranks::Exchange under_way(world());
    under_way.begin({{to, out.data(), out.size() * 4}}, {{from, in.data(), in.size() * 4}});
  }
  EXPECT_TRUE(std::ranges::all_of(in, [&](std::uint32_t value) { return static_cast<int>(value) == from; }));
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

// All ranks report which ranks differ, and in which fact: the first differing one.
TEST(Ranks, SayWhichOnesDiffer) {
  auto const complaint = [](std::vector<ranks::Fact> const& facts) -> std::string {
    try {
      ranks::check_same(world(), facts);
    } catch (UserError const& error) {
      std::string const text = error.what();
      return text.substr(0, text.find(';', text.rfind(')')));
    }
    return "";
  };
  int const last = world().count() - 1;
  bool const is_last = last > 0 && world().rank() == last;
  std::string const others = last == 1   ? "rank 0"
                             : last == 2 ? "ranks 0 and 1"
                                         : "ranks 0 to " + std::to_string(last - 1);
  EXPECT_EQ(complaint({{"a", "1"}, {"b", "2"}}), "");
  EXPECT_EQ(complaint({}), "");
  auto const expect = [&](std::string const& of_one, std::string const& of_others, std::string const& text) {
    if (last == 0) {
      EXPECT_EQ(text, "");
      return;
    }
    // With two ranks, rank 0 is named first.
    std::string const one = of_one + " on rank " + std::to_string(last);
    std::string const more = of_others + " on " + others;
    EXPECT_EQ(text, "the ranks do not agree on b (" + (last == 1 ? more + "; " + one : one + "; " + more) + ")");
  };
  expect("", "2", complaint({{"a", "1"}, {"b", is_last ? "" : "2"}}));
  std::vector<ranks::Fact> facts{{"a", "1"}};
  if (!is_last) facts.push_back({"b", "2"});
  expect("none", "2", complaint(facts));
  facts.clear();
  if (is_last) facts.push_back({"b", "3"});
  expect("3", "none", complaint(facts));
  // All values differ: only three are shown.
  std::string const each = complaint({{"b", std::to_string(world().rank())}});
  if (last >= 3) {
    EXPECT_EQ(each, "the ranks do not agree on b (0 on rank 0; 1 on rank 1; 2 on rank 2; others on others)");
  }
}

TEST(Ranks, CountWhatIsSaid) {
  ranks::Traffic const before = world().traffic();
  (void)world().all_gather(std::uint64_t{1});
  auto const others = static_cast<std::uint64_t>(world().count() - 1);
  EXPECT_EQ(world().traffic().bytes - before.bytes, 8 * others);
  EXPECT_EQ(world().traffic().messages - before.messages, others);
}

// Rows of 3 numbers that encode their origin.
TEST(Halos, BringTheRowsBesideTheOwn) {
  constexpr std::size_t row = 3;
  auto const number = [](std::size_t i) { return static_cast<std::uint32_t>(1000000 + 7 * i); };
  for (std::size_t const n : {0, 1, 2, 3, 5, 6, 7, 8, 40, 1001}) {
    for (Reach const reach :
         {Reach{0, 0}, Reach{0, 1}, Reach{1, 0}, Reach{2, 3}, Reach{0, 12}, Reach{500, 300}, Reach{5000, 5000}}) {
      Block const own = world().block(n);
      std::vector<std::uint32_t> values(row * own.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = number(own.begin * row + i);
      Halo halo(world(), n, reach, row * sizeof(std::uint32_t));
      // Number of existing rows around the own block; a rank without rows requests none.
      bool const empty = own.size() == 0;
      EXPECT_EQ(halo.before(), empty ? 0 : std::min(own.begin, reach.before));
      EXPECT_EQ(halo.behind(), empty ? 0 : std::min(n - own.end, reach.behind));
      EXPECT_LE(halo.head(), own.size());
      EXPECT_LE(halo.tail(), own.size());
      // One additional row on each side, which must stay unchanged.
      std::vector<std::uint32_t> before(row * (halo.before() + 1), 1);
      std::vector<std::uint32_t> behind(row * (halo.behind() + 1), 1);
      halo.lies_at(values.data(), values.data() + (own.size() - halo.tail()) * row, before.data(), behind.data());
      halo.exchange();
      bool right = true;
      for (std::size_t i = 0; i < row * halo.before(); ++i) {
        right = right && before[i] == number((own.begin - halo.before()) * row + i);
      }
      for (std::size_t i = 0; i < row * halo.behind(); ++i) right = right && behind[i] == number(own.end * row + i);
      EXPECT_TRUE(right) << n << " rows, " << reach.before << " before and " << reach.behind << " behind";
      EXPECT_TRUE(before.back() == 1 && behind.back() == 1);
    }
  }
}

}  // namespace
}  // namespace tessera
