// Element-wise functions of one and of two arrays on the user's own Views.

#include "program.hpp"

#include <cstdint>

#include <tessera/kernels/transform.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Values = Kokkos::View<std::int32_t*, Exec>;

struct Twice {
  KOKKOS_FUNCTION std::int32_t operator()(std::int32_t a) const { return 2 * a; }
};
struct Less {
  KOKKOS_FUNCTION std::int32_t operator()(std::int32_t a, std::int32_t b) const { return a - b; }
};

int check(Exec const& exec) {
  using tessera::kernels::transform;
  int wrong = 0;
  tessera::kernels::Transform<Exec, std::int32_t, Less> const subtract;
  for (int n : {0, 1, 3, 4, 4097, 1000003}) {
    Values const a("a", n);
    Values const twice("twice", n);
    Values const out("out", n);
    auto const found = Kokkos::create_mirror_view(out);
    Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) { a(i) = i % 101 - 50; });
    transform(exec, a, twice, Twice{});
    subtract(exec, twice, a, out);
    Kokkos::deep_copy(exec, found, out);
    exec.fence();
    for (int i = 0; i < n; ++i) wrong += differs("2 a - a", i, found(i), i % 101 - 50);
    if (n < 2) continue;
    // Unaligned to a pack, in place.
    auto const odd = Kokkos::subview(out, std::make_pair(1, n));
    transform(exec, odd, odd, Twice{});
    Kokkos::deep_copy(found, out);
    for (int i = 0; i < n; ++i) wrong += differs("in place", i, found(i), (i > 0 ? 2 : 1) * (i % 101 - 50));
  }

  // Matrices of any layout, but both must have the same layout and no gaps.
  Kokkos::View<std::int32_t**, Kokkos::LayoutLeft, Exec> const left("left", 5, 3);
  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec> const right("right", 5, 3);
  Kokkos::deep_copy(left, 4);
  transform(exec, left, left, left, Less{});
  std::int32_t corner = 1;
  Kokkos::deep_copy(corner, Kokkos::subview(left, 4, 2));
  wrong += differs("a matrix", 14, corner, 0);
  wrong += accepts("another layout", [&] { transform(exec, left, right, Twice{}); });
  wrong += accepts("another length", [&] { transform(exec, Values("short", 3), Values("long", 4), Twice{}); });
  auto const columns = Kokkos::subview(right, Kokkos::ALL, std::make_pair(0, 2));
  wrong += accepts("rows with gaps", [&] { transform(exec, columns, columns, Twice{}); });
  return wrong;
}
