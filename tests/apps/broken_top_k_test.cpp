// Wrong selections must be caught, also at a user's size.

#include "broken_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "../../apps/top_k/problem.hpp"

#include <tessera/kernels/top_k.hpp>

namespace tessera::top_k {
namespace {

enum class Mistake {
  none,
  tie_with_later_index,  // the k-th element is the last of those equal to it
  ties_exchanged,        // two results that are equal
  last_lost,             // the k-th element is the one before it
  nan_last,              // NaN where the order of a sort downwards has it
  zeros_without_sign,    // as if an element were made from its word
  row_of_neighbour,      // the results of the first row in all rows
  index_of_array,        // indices count from the first row
};

// One thread: damages the last row.
template <class In, class Values, class Indices>
struct Damage {
  Mistake mistake;
  In in;
  Values values;
  Indices indices;

  KOKKOS_FUNCTION void operator()(std::size_t) const {
    using T = typename Values::non_const_value_type;
    std::size_t const row = values.extent(0) - 1;
    std::size_t const n = in.extent(1);
    std::size_t const k = values.extent(1);
    std::size_t i = k - 1;
    auto const put = [&](std::size_t place, std::size_t index) {
      indices(row, place) = static_cast<std::int64_t>(index);
      values(row, place) = in(row, index);
    };
    switch (mistake) {
      case Mistake::tie_with_later_index: {
        std::size_t last = n - 1;
        while (in(row, last) != values(row, i)) --last;
        put(i, last);
        break;
      }
      case Mistake::ties_exchanged:
        while (values(row, i) != values(row, i - 1)) --i;
        Kokkos::kokkos_swap(indices(row, i), indices(row, i - 1));
        break;
      case Mistake::last_lost: put(i, static_cast<std::size_t>(indices(row, i - 1))); break;
      case Mistake::nan_last:  // a number, where there are NaN to take
        for (std::size_t e = 0; e < n; ++e) {
          if (in(row, e) == in(row, e)) return put(0, e);
        }
        break;
      case Mistake::zeros_without_sign:
        for (std::size_t e = 0; e < k; ++e) {
          if (values(row, e) == T(0)) values(row, e) = T(0);
        }
        break;
      case Mistake::row_of_neighbour:
        for (std::size_t e = 0; e < k; ++e) {
          values(row, e) = values(0, e);
          indices(row, e) = indices(0, e);
        }
        break;
      case Mistake::index_of_array:
        for (std::size_t e = 0; e < k; ++e) indices(row, e) += static_cast<std::int64_t>(row * n);
        break;
      default: break;
    }
  }
};

// A selection with one mistake.
struct Broken {
  Mistake mistake;

  [[nodiscard]] bool of_floats() const {
    return mistake == Mistake::nan_last || mistake == Mistake::zeros_without_sign;
  }

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<TopK, Exec, T> const& in, OutputOn<TopK, Exec, T> const& out) const {
    kernels::TopK<Exec, T> top(exec, in.in.extent(0), in.in.extent(1), out.values.extent(1));
    top(exec, in.in, out.values, out.indices);
    using In = std::remove_cvref_t<decltype(in.in)>;
    using Values = std::remove_cvref_t<decltype(out.values)>;
    using Indices = std::remove_cvref_t<decltype(out.indices)>;
    if (mistake != Mistake::none) {
      Kokkos::parallel_for("tessera::tests::broken_top_k::damage", over(exec, 1),
                           Damage<In, Values, Indices>{mistake, in.in, out.values, out.indices});
    }
    exec.fence("the selection's workspace goes");
  }
};

void expect_caught(std::initializer_list<Mistake> mistakes, std::size_t size, DataKind data,
                   ParameterMap const& given) {
  testing::expect_all_caught<TopK, Broken>(mistakes, size, data, given);
}

TEST(BrokenTopK, ThePathItselfIsRight) {
  for (std::size_t const size : {1, 2, 1000, 70001}) {
    testing::expect_right<TopK>(Broken{Mistake::none}, size, {});
    testing::expect_right<TopK>(Broken{Mistake::none}, size, {{"rows", std::int64_t{0}}});
  }
}
TEST(BrokenTopK, WrongElements) {
  for (std::size_t const size : {std::size_t{5000}, testing::late_size()}) {
    expect_caught({Mistake::tie_with_later_index, Mistake::ties_exchanged, Mistake::last_lost}, size, DataKind::random,
                  {});
  }
}
TEST(BrokenTopK, NaNAndZeros) {
  // The zeros are a sixteenth of the data, in their middle.
  std::int64_t const k = 700;
  expect_caught({Mistake::nan_last, Mistake::zeros_without_sign}, 1000, DataKind::adversarial, {{"k", k}});
  expect_caught({Mistake::nan_last}, testing::late_size(), DataKind::adversarial, {});
}
TEST(BrokenTopK, RowsOfOthers) {
  for (std::size_t const size : {std::size_t{5000}, testing::late_size()}) {
    expect_caught({Mistake::row_of_neighbour, Mistake::index_of_array}, size, DataKind::random,
                  {{"rows", std::int64_t{0}}});
  }
}
TEST(BrokenTopK, KOutOfRangeIsAUsersMistake) {
  App const app = testing::app_with({testing::rows_of<TopK>(Broken{Mistake::none})});
  DType const dtype = testing::dtypes_of_this_build().front();
  auto const shapes_of = [&](std::int64_t k, std::int64_t rows) {
    return app.footprint_of_size(dtype, 64, testing::with_defaults(app, {{"k", k}, {"rows", rows}})).output_shapes;
  };
  EXPECT_EQ(shapes_of(64, 1), (std::vector<Shape>{{1, 64}, {1, 64}}));
  EXPECT_EQ(shapes_of(0, 4), (std::vector<Shape>{{4, 0}, {4, 0}}));
  EXPECT_EQ(shapes_of(-1, 4), (std::vector<Shape>{{4, 16}, {4, 16}}));
  EXPECT_THROW((void)shapes_of(65, 1), UserError);
  EXPECT_THROW((void)shapes_of(17, 4), UserError);
}

}  // namespace
}  // namespace tessera::top_k
