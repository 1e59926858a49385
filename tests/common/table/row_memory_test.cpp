// The memory of rows: guards, poison, and results that are kept and compared in place.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <tessera/table/row_memory.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera {
namespace {

class RowMemory : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static std::string const& space() { return GetParam(); }

  static void write(GuardedFields const& fields, std::size_t field, std::ptrdiff_t at, unsigned char value) {
    copy_from_host(space(), static_cast<unsigned char*>(fields.data(field)) + at, &value, 1);
  }
  static unsigned char read(GuardedFields const& fields, std::size_t field, std::ptrdiff_t at) {
    unsigned char value = 0;
    copy_to_host(space(), &value, static_cast<unsigned char const*>(fields.data(field)) + at, 1);
    return value;
  }
  template <class T>
  static void fill(GuardedFields const& fields, std::size_t field, std::vector<T> const& values) {
    copy_from_host(space(), fields.data(field), values.data(), values.size() * sizeof(T));
  }
};

// Changes some values at both ends and in between, then restores them.
TEST_P(RowMemory, OtherValuesForAWhile) {
  for (std::size_t const n : {0, 1, 1000, 1 << 20, (1 << 20) + 1, 3 * (1 << 20) + 7, 1 << 24}) {
    std::vector<std::uint32_t> const values(n, 7);
    std::size_t const bytes = n * sizeof(std::uint32_t);
    auto const field = allocate_in(space(), bytes, "field");
    copy_from_host(space(), field.get(), values.data(), bytes);
    std::vector<std::uint32_t> now(n);
    {
      OtherValues const others(space(), field.get(), bytes);
      copy_to_host(space(), now.data(), field.get(), bytes);
      EXPECT_EQ(std::ranges::count(now, 0U), std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(n), 1 << 20));
      if (n == 0) continue;
      EXPECT_EQ(now.front(), 0);
      EXPECT_EQ(now.back(), 0);
      // One value in each hundredth of a large field.
      for (std::size_t part = 0; n >= 100 && part < 100; ++part) {
        auto const begin = now.begin() + static_cast<std::ptrdiff_t>(part * n / 100);
        EXPECT_NE(std::ranges::count(begin, now.begin() + static_cast<std::ptrdiff_t>((part + 1) * n / 100), 0U), 0);
      }
    }
    copy_to_host(space(), now.data(), field.get(), bytes);
    EXPECT_EQ(now, values) << n;
  }
}

// Other offsets are valid for the same keys: kernels read keys and offsets by them.
TEST(OtherOffsets, KeepTheContract) {
  auto const other = [](std::vector<std::int64_t> offsets) {
    other_offsets(offsets);
    return offsets;
  };
  using Offsets = std::vector<std::int64_t>;
  EXPECT_EQ(other({}), Offsets({}));
  EXPECT_EQ(other({0}), Offsets({0}));
  EXPECT_EQ(other({0, 5}), Offsets({0, 5}));
  EXPECT_EQ(other({0, 1, 6}), Offsets({0, 5, 6}));
  EXPECT_EQ(other({0, 3, 6}), Offsets({0, 2, 6}));
  EXPECT_EQ(other({0, 0, 0}), Offsets({0, 0, 0}));
  EXPECT_EQ(other({0, 0, 4, 4, 9, 10}), Offsets({0, 4, 4, 9, 9, 10}));
}

TEST_P(RowMemory, OtherOffsetsForAWhile) {
  for (std::size_t const n : {0, 1, 2, 1000, (1 << 19) + 7}) {
    std::vector<std::int64_t> offsets(n);
    for (std::size_t i = 0; i < n; ++i) offsets[i] = static_cast<std::int64_t>(i * i);
    std::size_t const bytes = n * sizeof(std::int64_t);
    auto const field = allocate_in(space(), bytes, "field");
    copy_from_host(space(), field.get(), offsets.data(), bytes);
    std::vector<std::int64_t> now(n);
    {
      auto const others = OtherValues::of_offsets(space(), field.get(), bytes);
      copy_to_host(space(), now.data(), field.get(), bytes);
      EXPECT_TRUE(std::ranges::is_sorted(now));
      if (n == 0) continue;
      EXPECT_EQ(now.front(), offsets.front());
      EXPECT_EQ(now.back(), offsets.back());
      EXPECT_EQ(now != offsets, n > 2);
    }
    copy_to_host(space(), now.data(), field.get(), bytes);
    EXPECT_EQ(now, offsets) << n;
  }
}

// A single different bit must be found, anywhere and in each of several fields.
TEST_P(RowMemory, OneBitIsNotTheSame) {
  for (std::size_t const n : {1, 2, 31, 1025, 65537, (1 << 20) + 3}) {
    GuardedFields fields(space(), {{"a", 1, DType::float32}, {"b", 1, DType::float64}, {"c", 1, DType::int64}},
                         {{n}, {n}, {n}});
    fields.poison();
    std::vector<float> a(n);
    std::iota(a.begin(), a.end(), 1.0F);
    fill(fields, 0, a);
    GuardedFields::Blocks kept;
    EXPECT_FALSE(fields.same_bits(kept)) << "nothing was kept";
    ASSERT_TRUE(fields.keep(kept));
    EXPECT_TRUE(fields.same_bits(kept));
    for (std::size_t field = 0; field < 3; ++field) {
      auto const bytes = static_cast<std::ptrdiff_t>(n * (field == 0 ? 4 : 8));
      for (std::ptrdiff_t const at : {std::ptrdiff_t{0}, bytes / 3, bytes / 2, bytes - 1}) {
        unsigned char const before = read(fields, field, at);
        write(fields, field, at, before ^ 0x10);
        EXPECT_FALSE(fields.same_bits(kept)) << "byte " << at << " of field " << field << " of " << n;
        write(fields, field, at, before);
        EXPECT_TRUE(fields.same_bits(kept));
      }
    }
    fields.poison();
    EXPECT_FALSE(fields.same_bits(kept)) << "poison";
    ASSERT_TRUE(fields.keep(kept)) << "into the same memory";
    EXPECT_TRUE(fields.same_bits(kept));
  }
}

// Bits are compared, not values: +0 and -0 differ, and a NaN equals itself.
TEST_P(RowMemory, ComparesBits) {
  GuardedFields fields(space(), {{"out", 1, DType::float32}}, {{3}});
  fields.poison();
  fill<float>(fields, 0, {0.0F, std::numeric_limits<float>::quiet_NaN(), 1.0F});
  GuardedFields::Blocks kept;
  ASSERT_TRUE(fields.keep(kept));
  EXPECT_TRUE(fields.same_bits(kept));
  fill<float>(fields, 0, {-0.0F, std::numeric_limits<float>::quiet_NaN(), 1.0F});
  EXPECT_FALSE(fields.same_bits(kept));
}

TEST_P(RowMemory, EmptyFields) {
  GuardedFields fields(space(), {{"out", 1, DType::float32}}, {{0}});
  fields.poison();
  GuardedFields::Blocks kept;
  ASSERT_TRUE(fields.keep(kept));
  EXPECT_TRUE(fields.same_bits(kept));
}

// A comparison also checks the guards, as fetching does.
TEST_P(RowMemory, GuardsAreLookedAt) {
  for (std::ptrdiff_t const at : {std::ptrdiff_t{-256}, std::ptrdiff_t{-1}, std::ptrdiff_t{400}, std::ptrdiff_t{655}}) {
    GuardedFields fields(space(), {{"out", 1, DType::float32}}, {{100}});
    fields.poison();
    GuardedFields::Blocks kept;
    ASSERT_TRUE(fields.keep(kept));
    write(fields, 0, at, 0);
    EXPECT_THROW((void)fields.same_bits(kept), std::runtime_error) << at;
    HostBuffers buffers;
    EXPECT_THROW((void)fields.fetch(buffers), std::runtime_error) << at;
  }
}

// Pieces below and above what goes through pinned memory at once, and samples of several stretches.
TEST_P(RowMemory, FetchesTheElementsThatAreChosen) {
  std::size_t const n = (std::size_t{1} << 24) + 1000;
  GuardedFields fields(space(), {{"few", 1, DType::float64}, {"many", 2, DType::int32}}, {{100}, {2, n / 2}});
  fields.poison();
  std::vector<double> few(100);
  std::iota(few.begin(), few.end(), 0.5);
  std::vector<std::int32_t> many(n);
  std::iota(many.begin(), many.end(), 7);
  fill(fields, 0, few);
  fill(fields, 1, many);
  std::vector<std::vector<Stretch>> const chosen{
      {{0, 1}},    {{n - 1, n}}, {{5, 5 + (1 << 16)}},           {{999, n - 1}},
      {{1000, n}}, {{0, n}},     {{3, 4}, {70, 75}, {n - 2, n}}, {}};
  for (std::vector<Stretch> const& stretches : chosen) {
    std::vector<std::size_t> counts;
    std::vector<HostField> const got = fields.fetch_sample([&](std::size_t count) {
      counts.push_back(count);
      return count == 100 ? std::vector<Stretch>{{99, 100}} : stretches;
    });
    EXPECT_EQ(counts, (std::vector<std::size_t>{100, n}));
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].name, "few");
    EXPECT_EQ(got[0].dtype, DType::float64);
    EXPECT_EQ(got[0].shape, Shape{1});
    EXPECT_EQ(*static_cast<double const*>(got[0].data.get()), 99.5);
    EXPECT_EQ(got[1].name, "many");
    EXPECT_EQ(got[1].dtype, DType::int32);
    EXPECT_EQ(got[1].shape, Shape{count_of(stretches)});
    auto const* element = static_cast<std::int32_t const*>(got[1].data.get());
    for (Stretch const& one : stretches) {
      EXPECT_TRUE(
          std::equal(element, element + (one.end - one.begin), many.begin() + static_cast<std::ptrdiff_t>(one.begin)))
          << one.begin;
      element += one.end - one.begin;
    }
  }
}

// More bytes than 32 bits can count; only on a GPU, whose memory is fast.
TEST_P(RowMemory, LastBitOfMoreThanFourGigabytes) {
  if (is_host_space(space())) GTEST_SKIP() << "a host takes seconds for it";
  std::size_t const n = (std::size_t{1} << 30) + 5;
  if (free_memory_bytes(space()) < 6.0 * static_cast<double>(n) * sizeof(float)) GTEST_SKIP() << "too little memory";
  GuardedFields fields(space(), {{"out", 1, DType::float32}}, {{n}});
  fields.poison();
  GuardedFields::Blocks kept;
  ASSERT_TRUE(fields.keep(kept));
  EXPECT_TRUE(fields.same_bits(kept));
  auto const last = static_cast<std::ptrdiff_t>(n * sizeof(float)) - 1;
  write(fields, 0, last, 1);
  EXPECT_FALSE(fields.same_bits(kept));
}

INSTANTIATE_TEST_SUITE_P(Spaces, RowMemory, ::testing::ValuesIn(enabled_spaces()),
                         [](auto const& info) { return info.param; });

}  // namespace
}  // namespace tessera
