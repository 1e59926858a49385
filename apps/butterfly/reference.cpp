/// \file
/// The serial oracle of butterfly: segment by segment.
///
/// Error bound: none. Values are moved and compared, so every result is exact. A NaN anywhere in a segment makes its
/// maximum and its minimum NaN; +0 and -0 are equal, and either may be the result.

#include <algorithm>
#include <utility>

#include "problem.hpp"

#include <tessera/table/references.hpp>

namespace tessera::butterfly {

namespace {

template <class T>
void one_segment(ButterflyOp op, T const* x, std::size_t count, double* out) {
  if (op == ButterflyOp::pair_swap) {
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t const partner = i % 2 == 1 ? i - 1 : i + 1;
      out[i] = static_cast<double>(x[partner < count ? partner : i]);
    }
    return;
  }
  T max = x[0];
  T min = x[0];
  T not_a_number = T(0);  // or the NaN that was found
  for (std::size_t i = 0; i < count; ++i) {
    max = x[i] > max ? x[i] : max;
    min = x[i] < min ? x[i] : min;
    not_a_number = x[i] != x[i] ? x[i] : not_a_number;
  }
  if (not_a_number != not_a_number) max = min = not_a_number;
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<double>(op == ButterflyOp::minmax_parity && i % 2 == 1 ? min : max);
  }
}

}  // namespace

template <class T>
std::vector<ExpectedField> Butterfly::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.in.extent(0);
  std::size_t const segment = input.parameters.segment == 0 ? n : static_cast<std::size_t>(input.parameters.segment);
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = {}};
  // In a part of the array, the first segment may have begun earlier; its result is not used.
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < n; begin += count) {
    count = std::min(segment - (input.parameters.first + begin) % segment, n - begin);
    one_segment(input.parameters.op, input.in.data() + begin, count, out.value.data() + begin);
  }
  return list_of(std::move(out));
}

}  // namespace tessera::butterfly

template struct tessera::References<tessera::butterfly::Butterfly>;
