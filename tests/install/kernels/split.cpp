// Splits into bins on the user's own Views, with user-defined bins.

#include "program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <tessera/kernels/split.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Items = Kokkos::View<std::int32_t*, Exec>;
using Offsets = Kokkos::View<std::int64_t*, Exec>;

struct Remainder {
  int bins;
  KOKKOS_FUNCTION int operator()(std::int32_t x) const { return x % bins; }
};

KOKKOS_INLINE_FUNCTION std::int32_t item(int i) { return i * 7 % 1009; }

// Returns 1 if an item, or the index that moved with it, or an offset differs from a serial split.
int compare(char const* what, Items const& items, Items const& values, Offsets const& offsets, Remainder const& bin) {
  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), items);
  auto const moved = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  auto const begins = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), offsets);
  std::vector<int> order(found.extent(0));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return bin(item(a)) < bin(item(b)); });
  std::vector<std::int64_t> expected(begins.extent(0));
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (differs(what, i, found(i), item(order[i])) != 0) return 1;
    if (moved.extent(0) > 0 && differs(what, i, moved(i), order[i]) != 0) return 1;
    ++expected[static_cast<std::size_t>(bin(item(order[i]))) + 1];
  }
  std::partial_sum(expected.begin(), expected.end(), expected.begin());
  for (std::size_t b = 0; b < expected.size(); ++b) {
    if (differs(what, b, begins(b), expected[b]) != 0) return 1;
  }
  return 0;
}

int check(Exec const& exec) {
  int wrong = 0;
  for (int n : {0, 1, 31, 4097, 1000003}) {
    Items const in("in", n);
    Items const values("values", n);
    Items const out("out", n);
    Items const moved("moved", n);
    Items const none("none", 0);
    Kokkos::parallel_for(
        "fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) {
          in(i) = item(i);
          values(i) = i;
        });
    for (int bins : {1, 10, 256}) {
      Offsets const offsets("offsets", bins + 1);
      Remainder const bin{bins};
      tessera::kernels::split_bins(exec, Kokkos::View<std::int32_t const*, Exec>(in), out, offsets, bin);
      wrong += compare("split_bins", out, none, offsets, bin);
      tessera::kernels::split_pairs(exec, in, values, out, moved, offsets, bin);
      wrong += compare("split_pairs", out, moved, offsets, bin);
      tessera::kernels::BinSplit<Exec, std::int32_t, Remainder> split(exec, n, bins, bin);
      for (int launch = 0; launch < 3; ++launch) split(exec, in, out, offsets);
      exec.fence();
      wrong += compare("an object", out, none, offsets, bin);
    }
  }

  Items const four("four", 4);
  auto const split = [&](auto const& in, auto const& out, int bins) {
    tessera::kernels::split_bins(exec, in, out, Offsets("offsets", bins + 1), Remainder{1});
  };
  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  wrong += accepts("a strided column", [&] { split(Kokkos::subview(matrix, Kokkos::ALL, 1), four, 2); });
  wrong += accepts("a short result", [&] { split(four, Items("out", 3), 2); });
  wrong += accepts("a result in the input's memory", [&] { split(four, four, 2); });
  wrong += accepts("257 bins", [&] { split(four, Items("out", 4), 257); });
  wrong += accepts("no bins", [&] { split(four, Items("out", 4), 0); });
  return wrong;
}
