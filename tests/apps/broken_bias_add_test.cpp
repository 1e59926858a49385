// Wrong bias additions must be caught: the row's bias, a bias that runs on into the next row, no bias, bias added
// twice.

#include "broken_rows.hpp"

#include "../../apps/bias_add/problem.hpp"

namespace tessera::bias_add {
namespace {

enum class Mistake { of_row, goes_on, none_added, added_twice, misses_last_column, unmasked };

// The right sum with one mistake that decides which bias an element gets. Reads stay inside the array.
template <class T>
struct AddWrongly {
  T const* x;
  T const* bias;
  T* y;
  std::size_t n;
  std::size_t cols;
  Mistake mistake;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const row = i / cols;
    std::size_t const col = i % cols;
    T value = i < n ? x[i] : T(1);
    T of_column = bias[col];
    if (mistake == Mistake::of_row) of_column = bias[row % cols];
    // A pack of four that crosses into the next row keeps the bias of the last column.
    if (mistake == Mistake::goes_on && i / 4 * 4 / cols != row) of_column = bias[cols - 1];
    if (mistake == Mistake::none_added) of_column = T(0);
    if (mistake == Mistake::added_twice) value = Add<T>{}(value, of_column);
    if (mistake == Mistake::misses_last_column && col == cols - 1) return;
    y[i] = Add<T>{}(value, of_column);
  }
};

struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<BiasAdd, Exec, T> const& in, OutputOn<BiasAdd, Exec, T> const& out) const {
    std::size_t const n = in.x.size();
    Kokkos::parallel_for("tessera::tests::broken_bias_add",
                         Kokkos::RangePolicy<Exec>(exec, 0, mistake == Mistake::unmasked ? (n + 7) / 8 * 8 : n),
                         AddWrongly<T>{in.x.data(), in.bias.data(), out.y.data(), n, in.x.extent(1), mistake});
  }
};

// A 7 x 13 matrix.
ParameterMap const seven_rows{{"rows", std::int64_t{7}}};

void expect_caught(Mistake mistake, std::string const& message) {
  testing::expect_caught<BiasAdd>(Broken{mistake}, 91, seven_rows, message);
}

TEST(BrokenBiasAdd, OfRow) { expect_caught(Mistake::of_row, "first"); }
TEST(BrokenBiasAdd, GoesOn) { expect_caught(Mistake::goes_on, "first"); }
TEST(BrokenBiasAdd, NoneAdded) { expect_caught(Mistake::none_added, "first"); }
TEST(BrokenBiasAdd, AddedTwice) { expect_caught(Mistake::added_twice, "first"); }
TEST(BrokenBiasAdd, MissesLastColumn) { expect_caught(Mistake::misses_last_column, "first"); }
TEST(BrokenBiasAdd, Unmasked) { expect_caught(Mistake::unmasked, "past the end"); }

TEST(BiasAddShapes, BiasIsAsLongAsARow) {
  EXPECT_THROW((void)BiasAdd::output_shapes({{3, 4}, {3}}, {}), UserError);
  EXPECT_EQ(BiasAdd::output_shapes({{3, 4}, {4}}, {}).at(0), (Shape{3, 4}));
}

}  // namespace
}  // namespace tessera::bias_add
