// Wrong sorts must be caught, also at a user's size.

#include "broken_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "../../apps/sort/problem.hpp"

#include <tessera/kernels/merge_sort.hpp>

namespace tessera::sort {
namespace {

enum class Mistake {
  none,
  swapped_at_the_end,  // the last two different keys
  swapped_in_the_middle,
  lost_and_duplicated,  // a key of the middle is replaced by its neighbour
  ties_in_wrong_order,  // the values of the last two equal keys
  ties_in_the_middle,
  nan_in_the_middle,     // the first NaN and the key of the middle
  lowest_digit_skipped,  // of 8 bits
  highest_digit_skipped,
  values_left_behind,  // those of the second half stay where they were
  ignores_descending,
  zeros_without_sign,  // as if a key were made from its word
};

// One thread: looks for the place from the end.
template <class T, class Keys, class Values>
struct Damage {
  Mistake mistake;
  collective::KeyOrder<T> order;
  Keys keys;
  Values values;

  KOKKOS_FUNCTION void operator()(std::size_t) const {
    std::size_t const n = keys.extent(0);
    bool const with_values = values.extent(0) > 0;
    auto const is_equal = [&](std::size_t i, std::size_t j) { return order(keys(i)) == order(keys(j)); };
    bool const in_middle = mistake == Mistake::swapped_in_the_middle || mistake == Mistake::ties_in_the_middle;
    std::size_t i = in_middle ? n / 2 : n - 1;
    switch (mistake) {
      case Mistake::swapped_at_the_end:
      case Mistake::swapped_in_the_middle:
        while (i > 0 && is_equal(i, i - 1)) --i;
        Kokkos::kokkos_swap(keys(i), keys(i - 1));
        if (with_values) Kokkos::kokkos_swap(values(i), values(i - 1));
        break;
      case Mistake::lost_and_duplicated:
        for (i = n / 2; is_equal(i, i - 1);) ++i;
        keys(i) = keys(i - 1);
        if (with_values) values(i) = values(i - 1);
        break;
      case Mistake::ties_in_wrong_order:
      case Mistake::ties_in_the_middle:
        while (!is_equal(i, i - 1)) --i;
        Kokkos::kokkos_swap(values(i), values(i - 1));
        break;
      case Mistake::nan_in_the_middle:
        while (keys(i - 1) != keys(i - 1)) --i;
        Kokkos::kokkos_swap(keys(i), keys(n / 2));
        break;
      case Mistake::zeros_without_sign:
        for (i = 0; i < n; ++i) {
          if (keys(i) == T(0)) keys(i) = T(0);
        }
        break;
      default: break;
    }
  }
};

// A merge sort with one mistake.
struct Broken {
  Mistake mistake;

  [[nodiscard]] bool of_floats() const {
    return mistake == Mistake::nan_in_the_middle || mistake == Mistake::zeros_without_sign;
  }

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& in, OutputOn<Sort, Exec, T> const& out) const {
    constexpr int bits = collective::key_bits<T>;
    bool const descending = in.parameters.descending && mistake != Mistake::ignores_descending;
    collective::KeyOrder<T> const order(descending, mistake == Mistake::lowest_digit_skipped ? 8 : 0,
                                        mistake == Mistake::highest_digit_skipped ? bits - 8 : bits);
    if (in.other_values.extent(0) > 0) {
      sort_with(exec, order, in.keys, in.other_values, out.keys, out.other_values);
    } else {
      sort_with(exec, order, in.keys, in.values, out.keys, out.values);
    }
  }

  template <ExecutionSpace Exec, class Order, class KeysIn, class ValuesIn, class Keys, class Values>
  void sort_with(Exec const& exec, Order const& order, KeysIn const& keys_in, ValuesIn const& from, Keys const& keys,
                 Values const& to) const {
    using T = typename Keys::value_type;
    kernels::MergeSort<Exec, T, typename Values::value_type> const sort(exec, keys.extent(0), to.extent(0) > 0);
    sort(exec, order, keys_in, from, keys, to);
    if (mistake == Mistake::values_left_behind) {
      std::size_t const half = from.extent(0) / 2;
      Kokkos::parallel_for(
          "tessera::tests::broken_sort::values", over(exec, from.extent(0) - half),
          KOKKOS_LAMBDA(std::size_t i) { to(half + i) = from(half + i); });
    }
    Kokkos::parallel_for("tessera::tests::broken_sort::damage", over(exec, 1),
                         Damage<T, Keys, Values>{mistake, order, keys, to});
    exec.fence("the sort's workspace goes");
  }
};

void expect_caught(std::initializer_list<Mistake> mistakes, std::size_t size, DataKind data,
                   ParameterMap const& given) {
  testing::expect_all_caught<Sort, Broken>(mistakes, size, data, given);
}

ParameterMap const with_index{{"values", std::string("index")}};

TEST(BrokenSort, ThePathItselfIsRight) {
  for (std::size_t const size : {1, 2, 1000, 70001}) {
    testing::expect_right<Sort>(Broken{Mistake::none}, size, {});
    testing::expect_right<Sort>(Broken{Mistake::none}, size, with_index);
    testing::expect_right<Sort>(Broken{Mistake::none}, size, {{"descending", true}});
  }
}
// A large case is generated and sorted by the reference once for all mistakes that its data show.
TEST(BrokenSort, KeysInWrongPlaces) {
  expect_caught({Mistake::swapped_at_the_end, Mistake::lost_and_duplicated}, 1000, DataKind::random, {});
  expect_caught({Mistake::lowest_digit_skipped, Mistake::highest_digit_skipped}, 70001, DataKind::random, {});
  expect_caught({Mistake::swapped_at_the_end, Mistake::swapped_in_the_middle, Mistake::lost_and_duplicated,
                 Mistake::lowest_digit_skipped, Mistake::highest_digit_skipped},
                testing::late_size(), DataKind::random, {});
}
TEST(BrokenSort, NaNAndZeros) {
  for (std::size_t const size : {std::size_t{1000}, testing::late_size()}) {
    expect_caught({Mistake::nan_in_the_middle, Mistake::zeros_without_sign}, size, DataKind::adversarial, {});
  }
}
TEST(BrokenSort, ValuesInWrongPlaces) {
  expect_caught({Mistake::ties_in_wrong_order}, 1000, DataKind::adversarial, with_index);
  expect_caught({Mistake::values_left_behind}, 1000, DataKind::random, with_index);
  expect_caught({Mistake::ties_in_wrong_order, Mistake::ties_in_the_middle, Mistake::values_left_behind},
                testing::late_size(), DataKind::random, with_index);
}
// Indices beyond 2^31 are 32-bit values, too: they wrap, and do not all become one number.
TEST(BrokenSort, GeneratedValuesOfLongArrays) {
  Draw const draw{.field = 1, .index = 3000000000};
  EXPECT_EQ(Sort::element<float>(draw, {}), -1294967296.0);
  EXPECT_EQ(Sort::element<double>(draw, {}), 3e9);
  Draw const other{.field = 2, .index = 3000000000};
  EXPECT_EQ(Sort::element<float>(other, {}), 3e9);
  EXPECT_EQ(Sort::element<double>(other, {}), -1294967296.0);
  EXPECT_EQ(Sort::element<std::int32_t>(other, {}), 3000000000);
}
// Values of the other width.
TEST(BrokenSort, OtherValuesInWrongPlaces) {
  ParameterMap const with_others{{"values", std::string("other")}};
  testing::expect_right<Sort>(Broken{Mistake::none}, 70001, with_others);
  expect_caught({Mistake::ties_in_wrong_order}, 1000, DataKind::adversarial, with_others);
  expect_caught({Mistake::values_left_behind}, 1000, DataKind::random, with_others);
}
// A file may have values of one width, not of both.
TEST(BrokenSort, ValuesOfBothWidthsAreRefused) {
  EXPECT_EQ(Sort::output_shapes({{5}, {0}, {5}}, {}), (std::vector<Shape>{{5}, {0}, {5}}));
  EXPECT_THROW((void)Sort::output_shapes({{5}, {5}, {5}}, {}), UserError);
  EXPECT_THROW((void)Sort::output_shapes({{5}, {0}, {4}}, {}), UserError);
}
TEST(BrokenSort, Ascends) {
  expect_caught({Mistake::ignores_descending}, 1000, DataKind::random, {{"descending", true}});
}

}  // namespace
}  // namespace tessera::sort
