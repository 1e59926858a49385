// Wrong maps of three dimensions must be caught: exchanged extents, edges without guards. A cube does not show half of
// them.

#include "broken_rows.hpp"

#include "../../apps/map_3d/problem.hpp"

namespace tessera::map_3d {
namespace {

// Index i of z * y * x means (plane, row, col) of these extents; `keeps` is the guard.
template <class T>
struct AddAt {
  T const* a;
  T* out;
  AddConstant<T> add;
  std::size_t n;
  std::size_t rows;  // distance between planes in memory
  std::size_t cols;  // distance between rows
  std::size_t x;     // extents of the index
  std::size_t y;
  std::size_t keep_col;  // guards
  std::size_t keep_row;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const col = i % x;
    std::size_t const row = i / x % y;
    std::size_t const plane = i / x / y;
    std::size_t const at = (plane * rows + row) * cols + col;
    // Reads stay inside the array: only the writes are wrong.
    if (col < keep_col && row < keep_row) out[at] = at < n ? add(a[at]) : T(1);
  }
};

struct Extents {
  std::size_t rows;
  std::size_t cols;
  std::size_t x;
  std::size_t y;
  std::size_t z;
  std::size_t keep_col;
  std::size_t keep_row;
};

template <class Exec, class T>
void add_at(Exec const& exec, InputOn<Map3d, Exec, T> const& in, OutputOn<Map3d, Exec, T> const& out,
            Extents const& e) {
  Kokkos::parallel_for("tessera::tests::broken_map_3d", over(exec, e.x * e.y * e.z),
                       AddAt<T>{in.a.data(),
                                out.out.data(),
                                {static_cast<T>(in.parameters.c)},
                                in.a.size(),
                                e.rows,
                                e.cols,
                                e.x,
                                e.y,
                                e.keep_col,
                                e.keep_row});
}

constexpr std::size_t none = std::size_t{1} << 40;

// 3 x 5 x 7.
ParameterMap const uneven{{"planes", std::int64_t{3}}, {"rows", std::int64_t{5}}};

TEST(BrokenMap3d, SwappedExtents) {
  // Mistake: planes and rows are exchanged in memory.
  testing::expect_caught<Map3d>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map3d, Exec, T> const& in,
                              OutputOn<Map3d, Exec, T> const& out) {
        std::size_t const planes = in.a.extent(0), rows = in.a.extent(1), cols = in.a.extent(2);
        add_at(exec, in, out, {planes, cols, cols, rows, planes, none, none});
      },
      105, uneven, "first");
}
// 3 x 2 x 2: an additional plane still lies within the guard zone.
TEST(BrokenMap3d, UnguardedPlanes) {
  // Planes rounded up to 4, without a guard.
  ParameterMap const small{{"planes", std::int64_t{3}}, {"rows", std::int64_t{2}}};
  testing::expect_caught<Map3d>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map3d, Exec, T> const& in,
                              OutputOn<Map3d, Exec, T> const& out) {
        std::size_t const planes = in.a.extent(0), rows = in.a.extent(1), cols = in.a.extent(2);
        add_at(exec, in, out, {rows, cols, cols, rows, (planes + 3) / 4 * 4, none, none});
      },
      12, small, "past the end");
}
TEST(BrokenMap3d, UnguardedColumns) {
  // An element past the end of a row is the first of the next, where the same value is right: only the very last row
  // shows it.
  testing::expect_caught<Map3d>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map3d, Exec, T> const& in,
                              OutputOn<Map3d, Exec, T> const& out) {
        std::size_t const planes = in.a.extent(0), rows = in.a.extent(1), cols = in.a.extent(2);
        add_at(exec, in, out, {rows, cols, (cols + 7) / 8 * 8, rows, planes, none, none});
      },
      105, uneven, "past the end");
}
TEST(BrokenMap3d, ForgottenPitch) {
  // Mistake: memory without padding is read as if its rows were padded to 8.
  testing::expect_caught<Map3d>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map3d, Exec, T> const& in,
                              OutputOn<Map3d, Exec, T> const& out) {
        std::size_t const planes = in.a.extent(0), rows = in.a.extent(1), cols = in.a.extent(2);
        add_at(exec, in, out, {rows, (cols + 7) / 8 * 8, cols, rows, planes, none, none});
      },
      105, uneven, "past the end");
}
TEST(BrokenMap3d, WrongGuard) {
  // The column is held against the rows.
  testing::expect_caught<Map3d>(
      []<class Exec, class T>(Exec const& exec, InputOn<Map3d, Exec, T> const& in,
                              OutputOn<Map3d, Exec, T> const& out) {
        std::size_t const planes = in.a.extent(0), rows = in.a.extent(1), cols = in.a.extent(2);
        add_at(exec, in, out, {rows, cols, cols, rows, planes, rows, none});
      },
      105, uneven, "first");
}

TEST(Map3dShapes, Examples) {
  auto const shape = [](std::size_t size, std::int64_t planes, std::int64_t rows) {
    return Map3d::input_shapes(size, {.planes = planes, .rows = rows}).at(0);
  };
  EXPECT_EQ(shape(1 << 12, 0, 0), (Shape{16, 16, 16}));
  EXPECT_EQ(shape(100, 0, 0), (Shape{4, 5, 5}));
  EXPECT_EQ(shape(100, 3, 4), (Shape{3, 4, 8}));
  EXPECT_EQ(shape(0, 0, 0), (Shape{0, 0, 0}));
  EXPECT_EQ(shape(1, 0, 0), (Shape{1, 1, 1}));
  EXPECT_THROW((void)shape(5, 6, 0), UserError);
  EXPECT_THROW((void)shape(10, 5, 3), UserError);
}

}  // namespace
}  // namespace tessera::map_3d
