// Lanes: every function of both models is compared with its documentation.

#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/collective/lane/lanes.hpp>

#include "lane_checks.hpp"
#include "operators_for_tests.hpp"

namespace tessera::test {
namespace {

struct Three {
  std::uint16_t x, y, z;
};

// Returns a value for lane `lane` that differs in each byte for each lane and seed.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION T made(std::uint64_t seed, int lane) {
  std::uint64_t const words[2] = {random_bits(seed * 1000 + lane), random_bits(seed * 1000 + lane + 500)};
  static_assert(sizeof(T) <= sizeof(words));
  T value;
  memcpy(&value, words, sizeof(T));
  return value;
}

// Sends values of T through every function that moves values.
template <class T>
struct Moves {
  template <class L>
  KOKKOS_FUNCTION void operator()(LaneChecker<L>& checker, std::uint64_t seed) const {
    L const& lanes = checker.lanes();
    T const one = made<T>(seed, 77);
    auto value = lanes.template fill<T>(one);
    checker.template holds<T>(value, [&](int) { return one; });

    lanes.each([&](int lane, T& own) { own = made<T>(seed, lane); }, value);
    checker.template holds<T>(value, [&](int lane) { return made<T>(seed, lane); });
    auto const fixed = value;
    auto other = lanes.template fill<T>(one);
    lanes.each(
        [&](int lane, T const& from, T& to, T& again) {
          to = from;
          again = lane % 2 ? one : from;
        },
        fixed, other, value);
    checker.template holds<T>(other, [&](int lane) { return made<T>(seed, lane); });
    checker.template holds<T>(value, [&](int lane) { return lane % 2 ? one : made<T>(seed, lane); });

    for (int i = 0; i < L::width; ++i) {
      checker.template holds<T>(lanes.shift_up(fixed, i),
                                [&](int lane) { return made<T>(seed, lane < i ? lane : lane - i); });
      checker.template holds<T>(lanes.shift_down(fixed, i),
                                [&](int lane) { return made<T>(seed, lane + i >= L::width ? lane : lane + i); });
      checker.template holds<T>(lanes.exchange(fixed, i), [&](int lane) { return made<T>(seed, lane ^ i); });
      checker.template is<T>(lanes.template read<T>(fixed, i), made<T>(seed, i));
    }
    for (int group = 1; group <= L::width; group *= 2) {
      checker.template holds<T>(lanes.first_of(fixed, group),
                                [&](int lane) { return made<T>(seed, lane / group * group); });
    }
    // None of these calls may change the moved values.
    checker.template holds<T>(fixed, [&](int lane) { return made<T>(seed, lane); });
  }
};

// Sends all kinds of flags through the votes.
struct Votes {
  template <class L>
  KOKKOS_FUNCTION void operator()(LaneChecker<L>& checker, std::uint64_t seed) const {
    vote(checker, 0);
    vote(checker, ~std::uint64_t{0});
    for (int i = 0; i < L::width; ++i) {
      vote(checker, std::uint64_t{1} << i);
      vote(checker, ~(std::uint64_t{1} << i));
      vote(checker, random_bits(seed * 1000 + i));
    }
  }

  template <class L>
  KOKKOS_FUNCTION static void vote(LaneChecker<L>& checker, std::uint64_t pattern) {
    L const& lanes = checker.lanes();
    auto flag = lanes.template fill<bool>(false);
    lanes.each([&](int lane, bool& own) { own = ((pattern >> lane) & 1) != 0; }, flag);
    std::uint64_t expected = 0;
    int count = 0;
    for (int lane = 0; lane < L::width; ++lane) {
      if ((pattern >> lane) & 1) {
        expected += std::uint64_t{1} << lane;
        ++count;
      }
    }
    checker.template is<std::uint64_t>(lanes.ballot(flag), expected);
    checker.template is<bool>(lanes.any(flag), count > 0);
    checker.template is<bool>(lanes.all(flag), count == L::width);
  }
};

// The examples in the header: W = 4, values 1 2 3 4.
struct Documented {
  template <class L>
  KOKKOS_FUNCTION void operator()(LaneChecker<L>& checker, std::uint64_t) const {
    L const& lanes = checker.lanes();
    auto v = lanes.template fill<int>(0);
    lanes.each([](int lane, int& own) { own = lane + 1; }, v);
    checker.template holds<int>(lanes.shift_up(v, 1), [](int lane) { return digit(1123, lane); });
    checker.template holds<int>(lanes.shift_down(v, 1), [](int lane) { return digit(2344, lane); });
    checker.template holds<int>(lanes.exchange(v, 1), [](int lane) { return digit(2143, lane); });
    checker.template is<int>(lanes.template read<int>(v, 2), 3);
    checker.template holds<int>(lanes.first_of(v, 2), [](int lane) { return digit(1133, lane); });
    auto above = lanes.template fill<bool>(false);
    lanes.each([](int, int const& own, bool& flag) { flag = own > 2; }, v, above);
    checker.template is<std::uint64_t>(lanes.ballot(above), 0b1100u);
  }

  // Digit 0 is the first of four.
  [[nodiscard]] KOKKOS_FUNCTION static int digit(int number, int i) {
    for (; i < 3; ++i) number /= 10;
    return number % 10;
  }
};

template <class T>
void expect_moves() {
  for_each_width([]<int W>() { EXPECT_EQ(check_everywhere<W>(Moves<T>{}), std::nullopt); });
}

TEST(Lanes, ModelsAreLanes) {
  static_assert(lane::Lanes<lane::Emulated<1>> && lane::Lanes<lane::Emulated<64>>);
  static_assert(lane::Lanes<lane::Hardware<1>> && lane::Lanes<lane::Hardware<32>>);
  static_assert(!lane::Lanes<int>);
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    EXPECT_EQ((lane::vector_length<Exec>(16)), is_gpu<Exec> ? 16 : 1);
    EXPECT_EQ((lane::On<Exec, lane::natural_width<Exec>>::width), lane::natural_width<Exec>);
  });
}

TEST(Lanes, DocumentedExample) { EXPECT_EQ(check_everywhere<4>(Documented{}), std::nullopt); }

TEST(Lanes, MoveBytes) { expect_moves<std::uint8_t>(); }
TEST(Lanes, MoveSixBytes) { expect_moves<Three>(); }
TEST(Lanes, MoveWords) { expect_moves<std::uint32_t>(); }
TEST(Lanes, MoveDoubleWords) { expect_moves<double>(); }
TEST(Lanes, MoveSixteenBytes) { expect_moves<Matrix>(); }

TEST(Lanes, Vote) {
  for_each_width([]<int W>() { EXPECT_EQ(check_everywhere<W>(Votes{}), std::nullopt); });
}

}  // namespace
}  // namespace tessera::test
