// Wrong maps of matrices: axes exchanged, tiles without masks, layouts mixed up. On a square matrix half of them pass.

#include "broken_rows.hpp"

#include "../../apps/map_2d/problem.hpp"

namespace tessera::map_2d {
namespace {

// Index i of `count` stands for (i / across, i % across); what that means in memory are the strides.
template <class T>
struct AddAt {
  T const* a;
  T* out;
  AddConstant<T> add;
  std::size_t n;
  std::size_t across;
  std::size_t in_down;
  std::size_t in_across;
  std::size_t out_down;
  std::size_t out_across;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const y = i / across;
    std::size_t const x = i % across;
    std::size_t const from = y * in_down + x * in_across;
    // Read inside: what is wrong here is what is written.
    out[y * out_down + x * out_across] = from < n ? add(a[from]) : T(1);
  }
};

template <class Exec, class T>
void add_at(Exec const& exec, InputOn<Map2d, Exec, T> const& in, OutputOn<Map2d, Exec, T> const& out, std::size_t down,
            std::size_t across, std::size_t in_down, std::size_t in_across, std::size_t out_down,
            std::size_t out_across) {
  Kokkos::parallel_for("tessera::tests::broken_map_2d", Kokkos::RangePolicy<Exec>(exec, 0, down * across),
                       AddAt<T>{in.a.data(),
                                out.out.data(),
                                {static_cast<T>(in.parameters.c)},
                                in.a.size(),
                                across,
                                in_down,
                                in_across,
                                out_down,
                                out_across});
}

struct SwappedAxes {
  static constexpr VariantInfo info{.name = "swapped_axes", .summary = "row runs over columns and column over rows"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map2d, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& in, OutputOn<Map2d, Exec, T> const& out) const {
      std::size_t const rows = in.a.extent(0);
      std::size_t const cols = in.a.extent(1);
      // Guarded by the wrong extents: the smaller square is all that is written.
      std::size_t const side = rows < cols ? rows : cols;
      add_at<Exec, T>(exec, in, out, side, side, cols, 1, cols, 1);
    }
  };
};

struct WrongPitch {
  static constexpr VariantInfo info{.name = "wrong_pitch", .summary = "row * rows + col"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map2d, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& in, OutputOn<Map2d, Exec, T> const& out) const {
      std::size_t const rows = in.a.extent(0);
      add_at<Exec, T>(exec, in, out, rows, in.a.extent(1), rows, 1, rows, 1);
    }
  };
};

struct MixedLayouts {
  static constexpr VariantInfo info{.name = "mixed_layouts", .summary = "a by rows, out by columns"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map2d, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& in, OutputOn<Map2d, Exec, T> const& out) const {
      std::size_t const rows = in.a.extent(0);
      std::size_t const cols = in.a.extent(1);
      add_at<Exec, T>(exec, in, out, rows, cols, cols, 1, 1, rows);
    }
  };
};

struct TilesUnmasked {
  static constexpr VariantInfo info{.name = "tiles_unmasked", .summary = "tiles of 8 x 8, no mask at the edges"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map2d, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& in, OutputOn<Map2d, Exec, T> const& out) const {
      std::size_t const cols = in.a.extent(1);
      // Past the right edge lies the next row, where the same value is right: only the last one shows it.
      add_at<Exec, T>(exec, in, out, in.a.extent(0), (cols + 7) / 8 * 8, cols, 1, cols, 1);
    }
  };
};

struct WholeTilesOnly {
  static constexpr VariantInfo info{.name = "whole_tiles_only",
                                    .summary = "cols / 8 tiles: the right edge is left out"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map2d, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& in, OutputOn<Map2d, Exec, T> const& out) const {
      std::size_t const cols = in.a.extent(1);
      add_at<Exec, T>(exec, in, out, in.a.extent(0), cols / 8 * 8, cols, 1, cols, 1);
    }
  };
};

// 7 x 13.
ParameterMap const seven_rows{{"rows", std::int64_t{7}}};

TEST(BrokenMap2d, SwappedAxes) { testing::expect_caught<Map2d, SwappedAxes>(91, seven_rows, "first"); }
TEST(BrokenMap2d, WrongPitch) { testing::expect_caught<Map2d, WrongPitch>(91, seven_rows, "first"); }
TEST(BrokenMap2d, MixedLayouts) { testing::expect_caught<Map2d, MixedLayouts>(91, seven_rows, "first"); }
TEST(BrokenMap2d, TilesUnmasked) { testing::expect_caught<Map2d, TilesUnmasked>(91, seven_rows, "past the end"); }
TEST(BrokenMap2d, WholeTilesOnly) { testing::expect_caught<Map2d, WholeTilesOnly>(91, seven_rows, "first"); }

}  // namespace
}  // namespace tessera::map_2d
