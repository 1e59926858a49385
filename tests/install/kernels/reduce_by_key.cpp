// Runs of equal keys on the user's own Views: sums, maxima, lengths, keys and scans.

#include "program.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <tessera/kernels/reduce_by_key.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Numbers = Kokkos::View<std::int32_t*, Exec>;
using Count = Kokkos::View<std::int64_t, Exec>;

// Runs of 1 to `longest` elements; keys come again.
KOKKOS_INLINE_FUNCTION std::int32_t key(int i, int longest) { return i / longest % 7 + (i % longest == 0 ? 100 : 0); }

int compare(char const* what, Numbers const& found, Count const& count, std::vector<std::int32_t> const& expected) {
  auto const out = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found);
  std::int64_t runs = 0;
  Kokkos::deep_copy(runs, count);
  if (differs(what, 0, runs, static_cast<std::int64_t>(expected.size())) != 0) return 1;
  int wrong = 0;
  for (std::size_t i = 0; i < out.extent(0); ++i)
    wrong += differs(what, i, out(i), i < expected.size() ? expected[i] : -1);
  return wrong;
}

int check(Exec const& exec) {
  int wrong = 0;
  for (int n : {0, 1, 31, 4097, 1000003}) {
    for (int longest : {1, 2, 33, 5000}) {
      Numbers const keys("keys", n);
      Numbers const values("values", n);
      Numbers const unique("unique", n);
      Numbers const results("results", n);
      Count const count("count");
      Kokkos::parallel_for(
          "fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) {
            keys(i) = key(i, longest);
            values(i) = i % 101 - 50;
          });
      std::vector<std::int32_t> of_keys;
      std::vector<std::int32_t> sums;
      std::vector<std::int32_t> maxima;
      std::vector<std::int32_t> lengths;
      std::vector<std::int32_t> scanned;
      for (int i = 0; i < n; ++i) {
        if (i == 0 || key(i, longest) != key(i - 1, longest)) {
          of_keys.push_back(key(i, longest));
          sums.push_back(0);
          maxima.push_back(-1000);
          lengths.push_back(0);
        }
        sums.back() += i % 101 - 50;
        maxima.back() = std::max(maxima.back(), i % 101 - 50);
        ++lengths.back();
        scanned.push_back(sums.back());
      }
      auto const again = [&] {
        Kokkos::deep_copy(unique, -1);
        Kokkos::deep_copy(results, -1);
      };
      again();
      tessera::kernels::reduce_by_key(exec, keys, values, unique, results, count);
      wrong += compare("keys", unique, count, of_keys) + compare("sums", results, count, sums);
      again();
      tessera::kernels::reduce_by_key(exec, keys, values, unique, results, count,
                                      tessera::collective::Max<std::int32_t>{});
      wrong += compare("maxima", results, count, maxima);
      again();
      tessera::kernels::run_lengths(exec, keys, unique, results, count);
      wrong += compare("keys of lengths", unique, count, of_keys) + compare("lengths", results, count, lengths);
      again();
      tessera::kernels::unique(exec, keys, unique, count);
      wrong += compare("unique", unique, count, of_keys);
      tessera::kernels::scan_by_key(exec, keys, values, results);
      Kokkos::deep_copy(count, n);
      wrong += compare("scan", results, count, scanned);
      again();
      tessera::kernels::ReduceByKey<Exec, std::int32_t> reduce(exec, n);
      for (int launch = 0; launch < 3; ++launch) reduce(exec, keys, values, unique, results, count);
      exec.fence();
      wrong += compare("sums of an object", results, count, sums);
    }
  }

  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  Numbers const four("four", 4);
  Count const count("count");
  wrong += accepts("a strided column",
                   [&] { tessera::kernels::unique(exec, Kokkos::subview(matrix, Kokkos::ALL, 1), four, count); });
  wrong += accepts("a short result", [&] { tessera::kernels::unique(exec, four, Numbers("out", 3), count); });
  wrong += accepts("the keys as result", [&] { tessera::kernels::unique(exec, four, four, count); });
  return wrong;
}
