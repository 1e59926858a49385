/// \file
/// The serial oracle of histogram: a loop over each part of the elements, with 64-bit counts. Counts are exact, so
/// results must be equal: the scale is empty. The rule of the bins (problem.hpp) is implemented again here: for floats
/// with operations in T, each of which IEEE 754 rounds in exactly one way; for integers with a division of 64-bit
/// integers.

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>

namespace tessera::histogram {

template <class T>
std::vector<ExpectedField> Histogram::reference(Input<T, Kokkos::HostSpace> const& input) {
  // int32 in 64 bits: neither a difference nor its product with the number of bins overflows.
  using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
  auto const lo = static_cast<Wide>(input.parameters.lo);
  auto const hi = static_cast<Wide>(input.parameters.hi);
  auto const bins = static_cast<std::size_t>(input.parameters.bins);
  Wide const bins_of_wide = static_cast<Wide>(bins);
  Wide const width = hi - lo;
  Wide const per_unit = std::is_integral_v<T> ? Wide(0) : bins_of_wide / width;

  std::vector<std::int64_t> counts(bins, 0);
  std::int64_t outside = 0;
  std::mutex together;
  // Each part has its own counts, and several run in parallel. Parts are so large that the counts cost little.
  for_blocks(input.in.extent(0), std::max(32 * part_elements(), 16 * bins),
             [&](std::size_t, std::size_t begin, std::size_t end) {
               std::vector<std::int64_t> own(bins, 0);
               std::int64_t own_outside = 0;
               for (std::size_t i = begin; i < end; ++i) {
                 auto const x = static_cast<Wide>(input.in(i));
                 if (!(lo <= x) || !(x < hi)) {
                   ++own_outside;
                   continue;
                 }
                 std::size_t bin = 0;
                 if constexpr (std::is_integral_v<T>) {
                   bin = static_cast<std::size_t>((x - lo) * bins_of_wide / width);
                 } else {
                   bin = static_cast<std::size_t>((x - lo) * per_unit);
                   if (bin == bins) bin = bins - 1;
                 }
                 ++own.at(bin);
               }
               std::lock_guard const lock(together);
               for (std::size_t bin = 0; bin < bins; ++bin) counts[bin] += own[bin];
               outside += own_outside;
             });
  return {{.name = "counts", .shape = {bins}, .value = {counts.begin(), counts.end()}, .scale = {}},
          {.name = "outside", .shape = {}, .value = {static_cast<double>(outside)}, .scale = {}}};
}

template <class T>
std::vector<ExpectedField> Histogram::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                        ranks::Part const& part) {
  std::vector<ExpectedField> fields = reference<T>(input);
  for (ExpectedField& field : fields) part.ranks.sum(std::span<double>(field.value));  // exact below 2^53
  return fields;
}

}  // namespace tessera::histogram

template struct tessera::References<tessera::histogram::Histogram>;
