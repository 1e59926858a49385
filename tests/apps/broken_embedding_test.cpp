// Wrong table rows must be caught. The kernel also runs on hosts with the tuning of GPUs.

#include <algorithm>

#include "broken_rows.hpp"

#include "../../apps/embedding/problem.hpp"

#include <tessera/kernels/embedding.hpp>

namespace tessera::embedding {
namespace {

enum class Mistake { none, clamps, leaves_out, negative_only, upper_only, off_by_one, misses_tail };

template <class Indices, class Table, class Out>
struct WrongElement {
  Mistake mistake;
  Indices idx;  // [B L]
  Table w;
  Out out;  // [B L, E]

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const position = i / w.extent(1);
    std::size_t const col = i - position * w.extent(1);
    auto const rows = static_cast<std::int64_t>(w.extent(0));
    std::int64_t index = idx(position);
    bool is_there = index >= 0 && index < rows;
    // Memory outside the table must not be read, so the mistakes stay inside it.
    std::int64_t const inside = index < 0 ? 0 : rows - 1;
    if (mistake == Mistake::leaves_out && !is_there) return;
    if (mistake == Mistake::misses_tail && col >= w.extent(1) / 4 * 4) return;
    if (mistake == Mistake::off_by_one && index == rows) is_there = true;
    if (mistake == Mistake::negative_only && index >= rows) is_there = true;
    if (mistake == Mistake::upper_only && index < 0) is_there = true;
    if (mistake == Mistake::clamps) is_there = true;
    if (index < 0 || index >= rows) index = inside;
    out(position, col) = is_there && rows > 0 ? w(index, col) : typename Table::non_const_value_type(0);
  }
};

template <class Indices, class Table, class Out>
auto wrong_element(Mistake mistake, Indices const& idx, Table const& w, Out const& out) {
  return WrongElement<Indices, Table, Out>{mistake, idx, w, out};
}

struct Wrong {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Embedding, Exec, T> const& in,
                  OutputOn<Embedding, Exec, T> const& out) const {
    Kokkos::parallel_for("tessera::tests::broken_embedding", Kokkos::RangePolicy<Exec>(exec, 0, out.out.size()),
                         wrong_element(mistake, flat_indices(in.idx), in.w, flat_rows(out.out)));
  }
};

ParameterMap const table{{"vocabulary", std::int64_t{7}}, {"width", std::int64_t{5}}};

void expect_mistake(Mistake mistake) { testing::expect_caught<Embedding>(Wrong{mistake}, 5 * 8 * 301, table, "out"); }

TEST(BrokenEmbedding, Clamps) { expect_mistake(Mistake::clamps); }
TEST(BrokenEmbedding, LeavesOut) { expect_mistake(Mistake::leaves_out); }
TEST(BrokenEmbedding, ChecksTheLowerEndOnly) { expect_mistake(Mistake::negative_only); }
TEST(BrokenEmbedding, ChecksTheUpperEndOnly) { expect_mistake(Mistake::upper_only); }
TEST(BrokenEmbedding, OneRowTooMany) { expect_mistake(Mistake::off_by_one); }
TEST(BrokenEmbedding, MissesTail) { expect_mistake(Mistake::misses_tail); }

// Several packs in flight, as on a GPU, with one team per tile or as many teams as fit on the device.
template <bool per_tile>
struct GpuTuned {
  static constexpr VariantInfo info{.name = "gpu_tuned", .summary = "packs in flight, on every space"};
  template <class T>
  struct Tuning {
    static constexpr int pack = collective::pack_width<T>;
    static constexpr int in_flight = 8;
    static constexpr bool team_per_tile = per_tile;
  };
  template <ExecutionSpace Exec, class T>
  struct Plan {
    kernels::Embedding<Exec, T, Tuning<T>> copy;

    Plan(Exec const& exec, InputOn<Embedding, Exec, T> const& in)
        : copy(exec, in.idx.size(), in.w, in.parameters.team) {}
    void operator()(Exec const& exec, InputOn<Embedding, Exec, T> const& in,
                    OutputOn<Embedding, Exec, T> const& out) const {
      copy(exec, flat_indices(in.idx), in.w, flat_rows(out.out));
    }
  };
};

void run_widths(App const& app, std::vector<std::size_t> const& widths) {
  for (std::int64_t const team : {0, 2, 4}) {
    for (std::size_t const width : widths) {
      for (std::size_t const length : {1, 3, 32, 101}) {
        for (Row const& row : app.rows) {
          if (!testing::is_wanted(row)) continue;
          std::vector<Shape> const shapes{{3, length}, {57, width}};
          testing::PatternSource const source(app, testing::Pattern::random, shapes);
          auto const problem_case = app.read(row.dtype, source, testing::with_defaults(app, {{"team", team}}));
          std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
          if (outcome.starts_with("skipped: ")) continue;
          EXPECT_EQ(outcome, "") << testing::name_of(app, row) << ", " << length << " x " << width;
        }
      }
    }
  }
}

// One, two, four and eight packs of a row per lane; rows that are whole packs or not.
TEST(Embedding, RowsInFlight) {
  run_widths(testing::app_with({rows<Embedding, GpuTuned<true>>(), rows<Embedding, GpuTuned<false>>()}),
             {1, 2, 3, 4, 5, 8, 16, 17, 36, 131, 132});
}

TEST(Embedding, ShapesOfASize) {
  auto const shapes = [](std::size_t size, ParameterMap const& given) {
    return Embedding::input_shapes(size, typed_parameters<Embedding::Parameters>(given));
  };
  using Int = std::int64_t;
  EXPECT_EQ(shapes(std::size_t{1} << 21, {}), (std::vector<Shape>{{8, 512}, {10000, 512}}));
  EXPECT_EQ(shapes(100, {}), (std::vector<Shape>{{1, 1}, {10000, 100}}));
  EXPECT_EQ(shapes(0, {}), (std::vector<Shape>{{0, 0}, {10000, 1}}));
  EXPECT_EQ(shapes(1000, {{"width", Int{10}}, {"length", Int{20}}}), (std::vector<Shape>{{5, 20}, {10000, 10}}));
  EXPECT_EQ(shapes(1000, {{"width", Int{10}}, {"length", Int{20}}, {"batch", Int{5}}}),
            (std::vector<Shape>{{5, 20}, {10000, 10}}));
  EXPECT_THROW((void)shapes(1000, {{"width", Int{10}}, {"length", Int{20}}, {"batch", Int{4}}}), UserError);
  EXPECT_THROW((void)shapes(1000, {{"width", Int{10}}, {"length", Int{101}}}), UserError);
}

}  // namespace
}  // namespace tessera::embedding
