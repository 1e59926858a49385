/// \file
/// The serial oracle of transpose: copies every element to its place.
///
/// Error bound: none. Nothing is computed, so nothing is rounded: every element must be unchanged (scale 0: exact).

#include <algorithm>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::transpose {

template <class T>
std::vector<ExpectedField> Transpose::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  MovedElements<T> out("out", {cols, rows});
  // Some columns at a time, which are rows of the result: independent loops that run in parallel. Within a loop some
  // rows at a time, so that no cache line is fetched twice.
  constexpr std::size_t together = 64;
  for_blocks(cols, together, [&](std::size_t, std::size_t first_col, std::size_t end_col) {
    for (std::size_t first = 0; first < rows; first += together) {
      std::size_t const end = std::min(rows, first + together);
      for (std::size_t c = first_col; c < end_col; ++c) {
        for (std::size_t r = first; r < end; ++r) out.set(c * rows + r, input.a(r, c));
      }
    }
  });
  return list_of(out.take());
}

}  // namespace tessera::transpose

template struct tessera::References<tessera::transpose::Transpose>;
