// References joined from parts must equal the whole bit by bit, for any parts and any optional data in them.

#include <tessera/verify/joined.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <tessera/verify/verify.hpp>

namespace tessera {
namespace {

constexpr std::size_t rows = 1000;
constexpr std::size_t cols = 3;

std::vector<HostField> outputs_of(DType dtype) { return {{"y", dtype, {rows, cols}, nullptr}}; }

// Values and bounds of any row, varied by each test.
using Number = double (*)(std::size_t i);

ReferenceOfRows reference_of(Number value, Number scale, Number offset) {
  return [=](ranks::Block own) {
    ExpectedField y{.name = "y", .shape = {own.size(), cols}, .value = {}, .scale = {}, .terms = 17};
    for (std::size_t i = own.begin * cols; i < own.end * cols; ++i) {
      y.value.push_back(value(i));
      if (scale != nullptr) y.scale.push_back(scale(i));
      if (offset != nullptr) y.offset.push_back(offset(i));
    }
    return list_of(std::move(y));
  };
}

std::uint64_t bits(double number) { return std::bit_cast<std::uint64_t>(number); }
std::uint64_t bits_of(CompactElement const& element) { return std::bit_cast<std::uint64_t>(element); }

enum class Form { narrow, compact, wide };

void expect_whole(ExpectedField const& joined, Number value, Number scale, Number offset, Form form) {
  EXPECT_EQ(joined.name, "y");
  EXPECT_EQ(joined.shape, (Shape{rows, cols}));
  EXPECT_EQ(joined.terms, 17);
  EXPECT_EQ(joined.narrow != nullptr, form == Form::narrow);
  EXPECT_EQ(joined.compact != nullptr, form == Form::compact);
  EXPECT_EQ(joined.value.size(), form == Form::wide ? rows * cols : 0);
  for (std::size_t i = 0; i < rows * cols; ++i) {
    if (form == Form::compact) {
      auto const packed = compacted({value(i), scale == nullptr ? 0 : scale(i), offset == nullptr ? 0 : offset(i)});
      ASSERT_TRUE(packed);
      ASSERT_EQ(bits_of(*packed), bits_of(joined.compact[i])) << i;
      continue;
    }
    if (form == Form::narrow) {
      ASSERT_EQ(bits(joined.narrow[i]), bits(static_cast<double>(static_cast<float>(value(i))))) << i;
    } else {
      ASSERT_EQ(bits(joined.value[i]), bits(value(i))) << i;
    }
    ASSERT_EQ(joined.scale.empty() ? 0 : joined.scale[i], scale == nullptr ? 0 : scale(i)) << i;
    ASSERT_EQ(joined.offset.empty() ? 0 : joined.offset[i], offset == nullptr ? 0 : offset(i)) << i;
  }
}

double whole_number(std::size_t i) { return static_cast<double>(i); }
double no_float(std::size_t i) { return static_cast<double>(i) + 0x1p-40; }
double float_at_first(std::size_t i) { return i < 2000 ? whole_number(i) : no_float(i); }
double not_a_number(std::size_t i) { return i % 7 == 0 ? std::nan("") : -0.0; }
double zero(std::size_t) { return 0; }
double one(std::size_t i) { return 1.0 + static_cast<double>(i); }
double late(std::size_t i) { return i < 2500 ? 0 : one(i); }
double late_huge(std::size_t i) { return i < 2900 ? no_float(i) : 1e39; }  // has no float

TEST(JoinedReference, HasWhatItsPartsHave) {
  struct Parts {
    Number value;
    Number scale;
    Number offset;
    Form form;
  };
  for (Parts const& parts :
       {Parts{whole_number, nullptr, nullptr, Form::narrow}, Parts{no_float, nullptr, nullptr, Form::narrow},
        Parts{no_float, zero, zero, Form::narrow}, Parts{whole_number, one, nullptr, Form::compact},
        Parts{no_float, one, nullptr, Form::compact}, Parts{float_at_first, one, nullptr, Form::compact},
        Parts{no_float, late, nullptr, Form::compact}, Parts{no_float, nullptr, late, Form::compact},
        Parts{no_float, no_float, late, Form::compact}, Parts{late_huge, one, nullptr, Form::wide},
        Parts{float_at_first, late, late, Form::wide}, Parts{not_a_number, late, one, Form::wide}}) {
    for (std::size_t const of_part : {std::size_t{1}, std::size_t{7}, std::size_t{500}, rows - 1}) {
      std::vector<ExpectedField> const joined =
          joined_reference(outputs_of(DType::float32), of_part, reference_of(parts.value, parts.scale, parts.offset));
      ASSERT_EQ(joined.size(), 1U);
      // A value without bounds is rounded to the dtype: only its float is known.
      expect_whole(joined[0], parts.value, parts.scale, parts.offset, parts.form);
    }
  }
}

// A double that is no float is kept unchanged.
TEST(JoinedReference, DoublesStayDoubles) {
  auto const joined = joined_reference(outputs_of(DType::float64), 10, reference_of(no_float, nullptr, nullptr));
  expect_whole(joined[0], no_float, nullptr, nullptr, Form::wide);
  EXPECT_TRUE(joined[0].scale.empty());
}

TEST(JoinedReference, BoundsThatAreZeroTakeNoMemory) {
  auto const joined = joined_reference(outputs_of(DType::float32), 10, reference_of(whole_number, zero, zero));
  EXPECT_TRUE(joined[0].scale.empty());
  EXPECT_TRUE(joined[0].offset.empty());
}

TEST(JoinedReference, OnePartStaysAsItIs) {
  auto const joined = joined_reference(outputs_of(DType::float32), rows, reference_of(no_float, zero, nullptr));
  EXPECT_EQ(joined[0].narrow, nullptr);
  EXPECT_EQ(joined[0].scale.size(), rows * cols);
}

// A part that is missing, too short or of another field is no reference.
TEST(JoinedReference, PartsMustBeWhatIsAskedFor) {
  auto const right = reference_of(whole_number, nullptr, nullptr);
  auto const spoilt = [&](auto const& spoil) {
    return [&right, spoil](ranks::Block own) {
      std::vector<ExpectedField> part = right(own);
      if (own.begin <= 500 && 500 < own.end) spoil(part);
      return part;
    };
  };
  auto const lost = spoilt([](auto& part) { part.clear(); });
  auto const shorter = spoilt([](auto& part) { part[0].value.pop_back(); });
  auto const another = spoilt([](auto& part) { part[0].name = "x"; });
  auto const with_more = spoilt([](auto& part) { part[0].bfloat16_offset.assign(part[0].value.size(), 1); });
  for (ReferenceOfRows const& reference :
       {ReferenceOfRows(lost), ReferenceOfRows(shorter), ReferenceOfRows(another), ReferenceOfRows(with_more)}) {
    EXPECT_THROW((void)joined_reference(outputs_of(DType::float32), 10, reference), std::logic_error);
  }
}

TEST(SampledReference, AsksForTheSampleOnly) {
  auto const choose = [](std::size_t count) { return sample_of(count, 100, 3); };
  auto const whole = reference_of(no_float, late, nullptr)({0, rows});
  std::atomic<std::size_t> computed = 0;
  auto const of_stretch = [&](std::size_t field, Stretch const& elements) {
    computed += elements.end - elements.begin;
    ExpectedField part = gather(whole.at(field), {elements});
    if (elements.end < 2500) part.scale.clear();  // the scales are 0
    return part;
  };
  ExpectedField const sampled = sampled_reference(outputs_of(DType::float32), choose, of_stretch).at(0);
  ExpectedField const gathered = gather(whole[0], choose(rows * cols));
  EXPECT_EQ(sampled.name, gathered.name);
  EXPECT_EQ(sampled.shape, gathered.shape);
  EXPECT_EQ(sampled.value, gathered.value);
  EXPECT_EQ(sampled.scale, gathered.scale);
  EXPECT_EQ(sampled.terms, gathered.terms);
  EXPECT_EQ(computed.load(), gathered.value.size());
  ExpectedField const nothing =
      sampled_reference({{"y", DType::float32, {0, cols}, nullptr}}, choose, of_stretch).at(0);
  EXPECT_EQ(nothing.shape, Shape{0});
}

}  // namespace
}  // namespace tessera
