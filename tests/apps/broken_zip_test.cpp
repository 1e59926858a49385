// Wrong sums of pairs must be caught: tiles and vectors with wrong tails or indices.

#include "broken_rows.hpp"

#include "../../apps/zip/problem.hpp"

namespace tessera::zip {
namespace {

// Thread t adds `count` elements from t * stride on; `masked` says whether it respects the end of the array.
template <class T>
struct AddTile {
  T const* a;
  T const* b;
  T* out;
  std::size_t n;
  std::size_t stride;
  std::size_t count;
  bool masked;
  KOKKOS_FUNCTION void operator()(std::size_t t) const {
    for (std::size_t i = t * stride; i < t * stride + count; ++i) {
      if (i < n) {
        out[i] = Add<T>{}(a[i], b[i]);
      } else if (!masked) {
        out[i] = T(1);
      }
    }
  }
};

template <class Exec, class T>
void add_tiles(Exec const& exec, InputOn<Zip, Exec, T> const& in, OutputOn<Zip, Exec, T> const& out, std::size_t tiles,
               std::size_t stride, std::size_t count, bool masked = true) {
  Kokkos::parallel_for("tessera::tests::broken_zip", over(exec, tiles),
                       AddTile<T>{in.a.data(), in.b.data(), out.out.data(), in.a.extent(0), stride, count, masked});
}

struct MissesRemainder {
  static constexpr VariantInfo info{.name = "misses_remainder", .summary = "only whole packs of four"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Zip, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& in, OutputOn<Zip, Exec, T> const& out) const {
      add_tiles<Exec, T>(exec, in, out, in.a.extent(0) / 4, 4, 4);
    }
  };
};

struct LastTileUnmasked {
  static constexpr VariantInfo info{.name = "last_tile_unmasked", .summary = "the last tile is as long as the others"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Zip, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& in, OutputOn<Zip, Exec, T> const& out) const {
      add_tiles<Exec, T>(exec, in, out, (in.a.extent(0) + 31) / 32, 32, 32, false);
    }
  };
};

struct ForgetsWidth {
  static constexpr VariantInfo info{.name = "forgets_width", .summary = "chunks begin a tile apart, not tile x width"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Zip, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& in, OutputOn<Zip, Exec, T> const& out) const {
      add_tiles<Exec, T>(exec, in, out, (in.a.extent(0) + 31) / 32, 8, 32);
    }
  };
};

struct LeavesGaps {
  static constexpr VariantInfo info{.name = "leaves_gaps",
                                    .summary = "the last element of each tile is the next one's"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Zip, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& in, OutputOn<Zip, Exec, T> const& out) const {
      add_tiles<Exec, T>(exec, in, out, (in.a.extent(0) + 31) / 32, 32, 31);
    }
  };
};

// The book's case cannot show this mistake, because a and b are equal there.
struct AddsOneTwice {
  static constexpr VariantInfo info{.name = "adds_one_twice", .summary = "a[i] + a[i]"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Zip, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& in, OutputOn<Zip, Exec, T> const& out) const {
      Kokkos::parallel_for(
          "tessera::tests::broken_zip", over(exec, 1),
          AddTile<T>{in.a.data(), in.a.data(), out.out.data(), in.a.extent(0), 0, in.a.extent(0), true});
    }
  };
};

TEST(BrokenZip, MissesRemainder) { testing::expect_caught<Zip, MissesRemainder>(102, {}, "100"); }
TEST(BrokenZip, LastTileUnmasked) { testing::expect_caught<Zip, LastTileUnmasked>(100, {}, "past the end"); }
TEST(BrokenZip, ForgetsWidth) { testing::expect_caught<Zip, ForgetsWidth>(100, {}, "56"); }
TEST(BrokenZip, LeavesGaps) { testing::expect_caught<Zip, LeavesGaps>(100, {}, "31"); }
TEST(BrokenZip, AddsOneTwice) { testing::expect_caught<Zip, AddsOneTwice>(100, {}, "100"); }

}  // namespace
}  // namespace tessera::zip
