// Wrong memory orders must be caught: exchanged indices, a forgotten pitch, padding that keeps its old values.

#include <map>
#include <string>

#include "broken_rows.hpp"

#include "../../apps/layouts/problem.hpp"

namespace tessera::layouts {

App app();

namespace {

// out[row * row_stride + col * col_stride] = a[row, col].
template <class T>
struct Put {
  T const* a;
  T* out;
  std::size_t cols;
  std::size_t row_stride;
  std::size_t col_stride;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { out[i / cols * row_stride + i % cols * col_stride] = a[i]; }
};

template <class T>
struct Clear {
  T* out;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { out[i] = T(0); }
};

// Tiles of `side` in column order, or with rows and columns exchanged within each tile.
template <class T>
struct PutTiles {
  T const* a;
  T* out;
  std::size_t cols;
  std::size_t side;
  std::size_t down;
  std::size_t across;
  bool by_columns;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const row = i / cols;
    std::size_t const col = i % cols;
    std::size_t const tile = by_columns ? col / side * down + row / side : row / side * across + col / side;
    std::size_t const inside = by_columns ? row % side * side + col % side : col % side * side + row % side;
    out[tile * side * side + inside] = a[i];
  }
};

template <class Exec, class T>
void clear(Exec const& exec, T* out, std::size_t count) {
  Kokkos::parallel_for("tessera::tests::broken_layouts", over(exec, count), Clear<T>{out});
}
template <class Exec, class Body>
void for_elements(Exec const& exec, std::size_t count, Body const& body) {
  Kokkos::parallel_for("tessera::tests::broken_layouts", over(exec, count), body);
}

// Tiles by columns, or columns in tiles.
template <bool ByColumns>
struct WrongTiles {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Layouts, Exec, T> const& in, OutputOn<Layouts, Exec, T> const& out) const {
    clear(exec, out.tiled.data(), out.tiled.size());
    for_elements(exec, in.a.size(),
                 PutTiles<T>{in.a.data(), out.tiled.data(), in.a.extent(1), out.tiled.extent(2), out.tiled.extent(0),
                             out.tiled.extent(1), ByColumns});
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "tiled"}}; }
};

// A 7 x 13 matrix.
ParameterMap const seven_rows{{"rows", std::int64_t{7}}, {"side", std::int64_t{4}}};

TEST(BrokenLayouts, RightForLeft) {
  // Row after row where columns are wanted.
  testing::expect_caught<Layouts>(
      testing::writes("left",
                      []<class Exec, class T>(Exec const& exec, InputOn<Layouts, Exec, T> const& in,
                                              OutputOn<Layouts, Exec, T> const& out) {
                        std::size_t const cols = in.a.extent(1);
                        for_elements(exec, in.a.size(), Put<T>{in.a.data(), out.left.data(), cols, cols, 1});
                      }),
      91, seven_rows, "left");
}
TEST(BrokenLayouts, ForgetsPitch) {
  // Rows one after the other, the rest is 0.
  testing::expect_caught<Layouts>(
      testing::writes("strided",
                      []<class Exec, class T>(Exec const& exec, InputOn<Layouts, Exec, T> const& in,
                                              OutputOn<Layouts, Exec, T> const& out) {
                        std::size_t const cols = in.a.extent(1);
                        clear(exec, out.strided.data(), out.strided.size());
                        for_elements(exec, in.a.size(), Put<T>{in.a.data(), out.strided.data(), cols, cols, 1});
                      }),
      91, seven_rows, "strided");
}
TEST(BrokenLayouts, LeavesPadding) {
  // Writes only where elements are.
  testing::expect_caught<Layouts>(
      testing::writes("strided",
                      []<class Exec, class T>(Exec const& exec, InputOn<Layouts, Exec, T> const& in,
                                              OutputOn<Layouts, Exec, T> const& out) {
                        for_elements(exec, in.a.size(),
                                     Put<T>{in.a.data(), out.strided.data(), in.a.extent(1), out.strided.extent(1), 1});
                      }),
      91, seven_rows, "strided");
}
TEST(BrokenLayouts, TilesByColumns) { testing::expect_caught<Layouts>(WrongTiles<true>{}, 91, seven_rows, "tiled"); }
TEST(BrokenLayouts, ColumnsInTiles) { testing::expect_caught<Layouts>(WrongTiles<false>{}, 91, seven_rows, "tiled"); }

// The 3 x 4 example of the README.
TEST(LayoutsNote, ShowsTheOrder) {
  std::map<std::string, std::string, std::less<>> const expected{{"right", "0 1 2 3 4 5 6 7 8 9 10 11"},
                                                                 {"left", "0 4 8 1 5 9 2 6 10 3 7 11"},
                                                                 {"stride", "0 1 2 3 . 4 5 6 7 . 8 9 10 11 ."},
                                                                 {"tiled", "0 1 4 5 2 3 6 7 8 9 . . 10 11 . ."}};
  App const all = app();
  ParameterMap const small{{"rows", std::int64_t{3}}, {"pitch", std::int64_t{5}}, {"side", std::int64_t{2}}};
  for (Row const& row : all.rows) {
    if (!testing::is_wanted(row)) continue;
    auto const problem_case = all.generate(row.dtype, 12, 1, testing::with_defaults(all, small));
    EXPECT_EQ(row.start(*problem_case)->note(), expected.find(row.info.name)->second) << row.info.name;
  }
}

TEST(LayoutsParameters, SideIsAPowerOfTwo) {
  EXPECT_THROW((void)typed_parameters<Parameters>({{"side", std::int64_t{6}}}), UserError);
  EXPECT_EQ(typed_parameters<Parameters>({{"side", std::int64_t{64}}}).side, 64);
}

}  // namespace
}  // namespace tessera::layouts
