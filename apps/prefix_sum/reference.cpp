/// \file
/// The serial oracle of prefix_sum: a loop over a part of the elements, with a sum in twice double precision. Parts run
/// in parallel, in two passes: first for each part's contribution to the later parts, then for the values.
///
/// If all elements lie on one grid, and in every segment the dtype holds the difference of the largest and the smallest
/// prefix on this grid, the sum of every contiguous range is exact. No variant rounds, and results must be equal
/// (verify/grid.hpp); there is no scale.
///
/// Error bound otherwise. A variant computes each output as a tree of additions of in[begin..i]. With k the longest
/// chain of additions and u the unit roundoff, the error is at most ((1 + u)^k - 1) * sum |in[j]| (Higham, Accuracy and
/// Stability of Numerical Algorithms, 4.2). The scale of an element is the sum of magnitudes up to it; the variant
/// reports k. The same holds for a tile's total, with the tile's magnitudes. If this sum exceeds the dtype's range, a
/// partial result may overflow in some orders only; the element is not checked (scale infinity). max and min do not
/// round: scale 0.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/joined.hpp>
#include <tessera/verify/sum_oracle.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::prefix_sum {

namespace {

// The largest (sign +1) or smallest (sign -1) element so far; a NaN stays NaN.
template <class T>
class ExtremeOracle {
 public:
  explicit ExtremeOracle(int sign) : sign_(sign) {
    double const most = std::is_floating_point_v<T> ? std::numeric_limits<double>::infinity()
                        : sign > 0                  ? -static_cast<double>(std::numeric_limits<T>::lowest())
                                                    : static_cast<double>(std::numeric_limits<T>::max());
    extreme_ = -sign * most;
  }
  void add(T value) { add_wide(static_cast<double>(value)); }
  void merge(ExtremeOracle const& later) { add_wide(later.extreme_); }
  [[nodiscard]] double value() const { return extreme_; }

 private:
  void add_wide(double wide) {
    if (std::isnan(extreme_)) return;
    if (std::isnan(wide) || sign_ * wide > sign_ * extreme_) extreme_ = wide;
  }

  int sign_;
  double extreme_;
};

// The sum of magnitudes.
template <class T>
class MagnitudeOracle {
 public:
  void add(T value) {
    auto const wide = static_cast<double>(value);
    if (std::isfinite(wide)) sum_.add(std::abs(wide));
  }
  void merge(MagnitudeOracle const& later) { sum_.merge(later.sum_); }
  [[nodiscard]] double value() const { return sum_.value(); }

 private:
  verify::ExactSum sum_;
};

// Turns sums of magnitudes into scales.
template <class T>
void to_scales(ExpectedField& field) {
  for (std::size_t i = 0; i < field.scale.size(); ++i) {
    field.scale[i] = verify::scale_of_sum<T>(field.value[i], field.scale[i]);
  }
}

std::size_t segment_of(PrefixSum::Parameters const& parameters, std::size_t n) {
  return parameters.segment == 0 ? n : parameters.segment;
}

// Returns the oracle's state before each part of the array: over the earlier elements of the segment that the part
// continues. Each part is a serial loop, and several run in parallel; then their states are merged in order.
template <class T, class Oracle>
std::vector<Oracle> before_parts(PrefixSum::Input<T, Kokkos::HostSpace> const& input, Oracle const& fresh) {
  std::size_t const n = input.in.extent(0);
  std::size_t const segment = segment_of(input.parameters, n);
  std::vector<Oracle> before(blocks_in(n, part_elements()), fresh);
  for_blocks(n, part_elements(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    std::size_t const last_begin = (end - 1) / segment * segment;  // begin of the part's last segment
    Oracle oracle = fresh;
    for (std::size_t i = std::max(begin, last_begin); i < end; ++i) oracle.add(input.in(i));
    before[part] = oracle;
  });
  Oracle carry = fresh;
  for (std::size_t part = 0; part < before.size(); ++part) {
    std::size_t const begin = part * part_elements();
    std::size_t const end = std::min(n, begin + part_elements());
    Oracle const own = std::exchange(before[part], carry);
    if ((end - 1) / segment * segment >= begin) carry = fresh;  // a segment began in the part
    carry.merge(own);
  }
  return before;
}

// Returns the values of some elements; calls `watch(i, first, value)` for each prefix up to and including element i.
template <class T, class Oracle, class Watch>
std::vector<double> scan(PrefixSum::Input<T, Kokkos::HostSpace> const& input, ranks::Block part, Oracle oracle,
                         Oracle const& fresh, Watch const& watch) {
  std::vector<double> values(part.size());
  std::size_t const segment = segment_of(input.parameters, input.in.extent(0));
  std::size_t const past_begin = part.begin % segment;
  std::size_t to_next = past_begin == 0 ? 0 : segment - past_begin;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    bool const first = to_next == 0;
    if (first) {
      oracle = fresh;
      to_next = segment;
    }
    --to_next;
    if (input.parameters.exclusive) values[i - part.begin] = oracle.value();
    oracle.add(input.in(i));
    double const through = oracle.value();
    if (!input.parameters.exclusive) values[i - part.begin] = through;
    watch(i, first, through);
  }
  return values;
}

// Returns the values, and with `scaled` the sums of magnitudes. `watch_of(part)` returns the `watch` of a part.
template <class T, class Oracle, class WatchOf>
ExpectedField scan_by_parts(PrefixSum::Input<T, Kokkos::HostSpace> const& input, Oracle const& fresh, bool scaled,
                            WatchOf const& watch_of) {
  std::size_t const n = input.in.extent(0);
  if (n == 0) return {.name = "out", .shape = {0}, .value = {}, .scale = {}};
  MagnitudeOracle<T> const no_magnitude;
  std::vector<Oracle> const before = before_parts(input, fresh);
  std::vector<MagnitudeOracle<T>> magnitudes_before;
  if (scaled) magnitudes_before = before_parts(input, no_magnitude);
  auto const reference = [&](ranks::Block rows) {
    std::size_t const part = rows.begin / part_elements();
    ExpectedField out{.name = "out", .shape = {rows.size()}, .value = {}, .scale = {}};
    out.value = scan(input, rows, before[part], fresh, watch_of(part));
    if (scaled) {
      out.scale = scan(input, rows, magnitudes_before[part], no_magnitude, [](std::size_t, bool, double) {});
      to_scales<T>(out);
    }
    return list_of(std::move(out));
  };
  return std::move(joined_reference({{"out", dtype_of<T>, {n}, nullptr}}, part_elements(), reference).front());
}

// For scans without a `watch`.
inline auto nobody(std::size_t) {
  return [](std::size_t, bool, double) {};
}

// Returns the total of each tile by itself, if totals are stored.
template <class T, class Oracle>
ExpectedField totals_of_tiles(PrefixSum::Input<T, Kokkos::HostSpace> const& input, Oracle const& fresh) {
  std::size_t const n = input.in.extent(0);
  std::size_t const count = input.parameters.totals_of(n);
  auto const tile = static_cast<std::size_t>(input.parameters.tile);
  ExpectedField totals{.name = "totals", .shape = {count}, .value = std::vector<double>(count), .scale = {}};
  totals.terms = static_cast<double>(std::min(tile, n));
  for_blocks(count, std::max<std::size_t>(1, part_elements() / std::max<std::size_t>(1, tile)),
             [&](std::size_t, std::size_t first, std::size_t last) {
               for (std::size_t t = first; t < last; ++t) {
                 Oracle oracle = fresh;
                 for (std::size_t i = t * tile; i < std::min(n, (t + 1) * tile); ++i) oracle.add(input.in(i));
                 totals.value[t] = oracle.value();
               }
             });
  return totals;
}

template <class T>
std::vector<ExpectedField> sums(PrefixSum::Input<T, Kokkos::HostSpace> const& input) {
  verify::WideSum<T> const fresh;
  ExpectedField totals = totals_of_tiles(input, fresh);
  if constexpr (std::is_integral_v<T>) {
    return list_of(scan_by_parts(input, fresh, false, nobody), std::move(totals));
  } else {
    std::vector<verify::ScanProof> proofs(blocks_in(input.in.extent(0), part_elements()));
    ExpectedField out = scan_by_parts(input, fresh, false, [&](std::size_t part) {
      proofs[part] = {};
      return [&input, &proof = proofs[part]](std::size_t i, bool first, double prefix) {
        if (first) proof.begin();
        proof.add(static_cast<double>(input.in(i)), prefix);
      };
    });
    verify::ScanProof all;
    for (verify::ScanProof const& proof : proofs) all.merge(proof);
    if (!all.holds<T>()) {
      out = scan_by_parts(input, fresh, true, nobody);
      totals.scale = totals_of_tiles(input, MagnitudeOracle<T>()).value;
      to_scales<T>(totals);
    }
    return list_of(std::move(out), std::move(totals));
  }
}

template <class T>
std::vector<ExpectedField> extremes(PrefixSum::Input<T, Kokkos::HostSpace> const& input, int sign) {
  ExtremeOracle<T> const fresh(sign);
  return list_of(scan_by_parts(input, fresh, false, nobody), totals_of_tiles(input, fresh));
}

}  // namespace

template <class T>
std::vector<ExpectedField> PrefixSum::reference(Input<T, Kokkos::HostSpace> const& input) {
  switch (input.parameters.op) {
    case collective::OperatorKind::max: return extremes(input, +1);
    case collective::OperatorKind::min: return extremes(input, -1);
    default: return sums(input);
  }
}

}  // namespace tessera::prefix_sum

template struct tessera::References<tessera::prefix_sum::PrefixSum>;
