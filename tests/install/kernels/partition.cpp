// Stable partitions and a compaction on the user's own Views, with a user-defined predicate.

#include "program.hpp"

#include <cstdint>
#include <vector>

#include <tessera/kernels/partition.hpp>
#include <tessera/kernels/partition_segments.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Values = Kokkos::View<std::int32_t*, Exec>;

struct IsMultipleOfThree {
  KOKKOS_FUNCTION bool operator()(std::int32_t x) const { return x % 3 == 0; }
};

KOKKOS_INLINE_FUNCTION std::int32_t element(int i) { return i * 7 % 1009; }

// Returns 1 if an element or a count differs from the serial partition of each segment. `kept`: only left elements are
// written.
template <class Counts>
int compare(char const* what, Values const& found, Counts const& counts, int segment, bool kept = false) {
  auto const out = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found);
  auto const lefts = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), counts);
  int const n = static_cast<int>(out.extent(0));
  for (int begin = 0, s = 0; begin == 0 || begin < n; begin += segment, ++s) {
    std::vector<std::int32_t> left;
    std::vector<std::int32_t> right;
    for (int i = begin; i < begin + segment && i < n; ++i) {
      (IsMultipleOfThree{}(element(i)) ? left : right).push_back(element(i));
    }
    if (differs(what, s, lefts.data()[s], static_cast<std::int64_t>(left.size())) != 0) return 1;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (differs(what, begin + i, out(begin + i), left[i]) != 0) return 1;
    }
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (differs(what, begin + i, out(begin + left.size() + i), kept ? -1 : right[i]) != 0) return 1;
    }
  }
  return 0;
}

int check(Exec const& exec) {
  int wrong = 0;
  for (int n : {0, 1, 31, 4097, 1000003}) {
    Values const in("in", n);
    Values const out("out", n);
    Kokkos::View<std::int64_t, Exec> const count("count");
    Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) { in(i) = element(i); });

    tessera::kernels::partition(exec, in, out, count, IsMultipleOfThree{});
    wrong += compare("partition", out, count, n + 1);
    Kokkos::deep_copy(out, -1);
    tessera::kernels::compact(exec, Kokkos::View<std::int32_t const*, Exec>(in), out, count, IsMultipleOfThree{});
    wrong += compare("compact", out, count, n + 1, true);

    tessera::kernels::LookBackPartition<Exec, std::int32_t, IsMultipleOfThree> look_back(exec, n);
    for (int launch = 0; launch < 3; ++launch) look_back(exec, in, out, count);
    exec.fence();
    wrong += compare("look-back", out, count, n + 1);

    for (int segment : {1, 5, 100, 512}) {
      Kokkos::View<std::int64_t*, Exec> const counts("counts", (n + segment - 1) / segment);
      if (segment == 5) {
        tessera::kernels::partition_segments(exec, in, out, counts, segment, IsMultipleOfThree{});
      } else {
        tessera::kernels::SegmentPartition<Exec, std::int32_t, IsMultipleOfThree> const split(exec, n, segment);
        split(exec, in, out, counts);
        exec.fence();
      }
      if (n > 0) wrong += compare("segments", out, counts, segment);
    }
  }

  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  Kokkos::View<std::int64_t, Exec> const count("count");
  wrong += accepts("a strided column", [&] {
    tessera::kernels::partition(exec, Kokkos::subview(matrix, Kokkos::ALL, 1), Values("out", 4), count,
                                IsMultipleOfThree{});
  });
  wrong += accepts("a short result", [&] {
    tessera::kernels::compact(exec, Values("in", 4), Values("out", 3), count, IsMultipleOfThree{});
  });
  return wrong;
}
