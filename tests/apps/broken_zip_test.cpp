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

TEST(BrokenZip, MissesRemainder) {
  // Only whole packs of four.
  testing::expect_caught<Zip>(
      [](auto const& exec, auto const& in, auto const& out) { add_tiles(exec, in, out, in.a.extent(0) / 4, 4, 4); },
      102, {}, "100");
}
TEST(BrokenZip, LastTileUnmasked) {
  // The last tile is as long as the others.
  testing::expect_caught<Zip>(
      [](auto const& exec, auto const& in, auto const& out) {
        add_tiles(exec, in, out, (in.a.extent(0) + 31) / 32, 32, 32, false);
      },
      100, {}, "past the end");
}
TEST(BrokenZip, ForgetsWidth) {
  // Chunks begin a tile apart, not tile x width.
  testing::expect_caught<Zip>([](auto const& exec, auto const& in,
                                 auto const& out) { add_tiles(exec, in, out, (in.a.extent(0) + 31) / 32, 8, 32); },
                              100, {}, "56");
}
TEST(BrokenZip, LeavesGaps) {
  // The last element of each tile is the next one's.
  testing::expect_caught<Zip>([](auto const& exec, auto const& in,
                                 auto const& out) { add_tiles(exec, in, out, (in.a.extent(0) + 31) / 32, 32, 31); },
                              100, {}, "31");
}
TEST(BrokenZip, AddsOneTwice) {
  // a[i] + a[i]: the book's case cannot show this mistake, because a and b are equal there.
  testing::expect_caught<Zip>(
      []<class Exec, class T>(Exec const& exec, InputOn<Zip, Exec, T> const& in, OutputOn<Zip, Exec, T> const& out) {
        Kokkos::parallel_for(
            "tessera::tests::broken_zip", Kokkos::RangePolicy<Exec>(exec, 0, 1),
            AddTile<T>{in.a.data(), in.a.data(), out.out.data(), in.a.extent(0), 0, in.a.extent(0), true});
      },
      100, {}, "100");
}

// Index i adds an element that is `stride` elements from that of index i + 1; `walk` indices are one walk.
template <class T>
struct AddFarApart {
  T const* a;
  T const* b;
  T* out;
  std::size_t n;
  std::size_t stride;
  std::size_t walk;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const element = i % walk * stride + i / walk;
    if (element < n) out[element] = Add<T>{}(a[element], b[element]);
  }
};
TEST(BrokenZip, StrideLosesTheTail) {
  // Only whole strides: the last steps of the first walks are missing.
  testing::expect_caught<Zip>(
      []<class Exec, class T>(Exec const& exec, InputOn<Zip, Exec, T> const& in, OutputOn<Zip, Exec, T> const& out) {
        std::size_t const n = in.a.extent(0);
        std::size_t const walk = n / 512;
        Kokkos::parallel_for("tessera::tests::broken_zip", over(exec, walk * 512),
                             AddFarApart<T>{in.a.data(), in.b.data(), out.out.data(), n, 512, walk});
      },
      1100, {}, "76 of 1100 elements are wrong; first at [1024]");
}

template <class T>
struct AddFromEnd {
  T const* a;
  T const* b;
  T* out;
  std::size_t n;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const element = n - i;
    out[element] = element < n ? Add<T>{}(a[element], b[element]) : T(1);
  }
};
TEST(BrokenZip, ReversedOneOff) {
  // n - i, not n - 1 - i.
  testing::expect_caught<Zip>(
      []<class Exec, class T>(Exec const& exec, InputOn<Zip, Exec, T> const& in, OutputOn<Zip, Exec, T> const& out) {
        std::size_t const n = in.a.extent(0);
        Kokkos::parallel_for("tessera::tests::broken_zip", over(exec, n),
                             AddFromEnd<T>{in.a.data(), in.b.data(), out.out.data(), n});
      },
      100, {}, "past the end");
}

template <class T>
struct AddRepeatedly {
  T const* a;
  T const* b;
  T* out;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    out[i] = Add<T>{}(a[i], b[i]);
    out[i] = Add<T>{}(out[i], Add<T>{}(a[i], b[i]));
  }
};
TEST(BrokenZip, RepeatedAddsTwice) {
  // The second walk adds to the result of the first.
  testing::expect_caught<Zip>(
      []<class Exec, class T>(Exec const& exec, InputOn<Zip, Exec, T> const& in, OutputOn<Zip, Exec, T> const& out) {
        Kokkos::parallel_for("tessera::tests::broken_zip", over(exec, in.a.extent(0)),
                             AddRepeatedly<T>{in.a.data(), in.b.data(), out.out.data()});
      },
      100, {}, "first at [0]");
}

}  // namespace
}  // namespace tessera::zip
