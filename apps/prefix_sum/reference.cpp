/// \file
/// The serial oracle of prefix_sum: one loop, a sum in twice double precision.
///
/// Where all elements lie on one grid, and in no segment the largest prefix is further above the smallest than the dtype
/// is precise, the sum of every contiguous range is exact: no variant rounds anything, and results must be equal
/// (verify/grid.hpp). Then there is no scale at all.
///
/// Error bound otherwise. A variant computes each output as a tree of additions of in[begin..i]. With k the longest chain of
/// additions in it and u the unit roundoff, the error is at most ((1 + u)^k - 1) * sum |in[j]| (Higham, Accuracy and
/// Stability of Numerical Algorithms, 4.2). So the scale of an element is the sum of magnitudes up to it; k is the
/// variant's. The same holds for a tile's total, with the tile's magnitudes. Where that sum exceeds the dtype's range, a partial result may overflow in one order and not in another:
/// nothing can be asked (scale infinity). max and min round nothing: scale 0.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::prefix_sum {

namespace {

template <class T>
class SumOracle {
 public:
  void add(T value) {
    if constexpr (std::is_integral_v<T>) {
      wrapped_ += static_cast<std::uint32_t>(value);
    } else {
      sum_.add(static_cast<double>(value));
    }
  }
  [[nodiscard]] double result() const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<double>(static_cast<std::int32_t>(wrapped_));
    } else {
      return sum_.value();
    }
  }

 private:
  std::uint32_t wrapped_ = 0;
  verify::ExactSum sum_;
};

// Largest (sign +1) or smallest (sign -1) so far; a NaN stays.
template <class T>
class ExtremeOracle {
 public:
  explicit ExtremeOracle(int sign) : sign_(sign) {
    double const most = std::is_floating_point_v<T> ? std::numeric_limits<double>::infinity()
                        : sign > 0                  ? -static_cast<double>(std::numeric_limits<T>::lowest())
                                                    : static_cast<double>(std::numeric_limits<T>::max());
    extreme_ = -sign * most;
  }
  void add(T value) {
    double const wide = static_cast<double>(value);
    if (std::isnan(extreme_)) return;
    if (std::isnan(wide) || sign_ * wide > sign_ * extreme_) extreme_ = wide;
  }
  [[nodiscard]] double result() const { return extreme_; }

 private:
  int sign_;
  double extreme_;
};

std::size_t segment_of(PrefixSum::Parameters const& parameters, std::size_t n) {
  return parameters.segment == 0 ? n : parameters.segment;
}

// The values alone; `watch(i, value)` sees each prefix with its last element.
template <class T, class Oracle, class Watch>
ExpectedField scan(PrefixSum::Input<T, Kokkos::HostSpace> const& input, Oracle const& fresh, Watch const& watch) {
  std::size_t const n = input.in.extent(0);
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = {}};
  std::size_t const segment = segment_of(input.parameters, n);
  Oracle oracle = fresh;
  for (std::size_t begin = 0; begin < n; begin += std::min(segment, n - begin)) {
    std::size_t const end = begin + std::min(segment, n - begin);
    oracle = fresh;
    for (std::size_t i = begin; i < end; ++i) {
      if (input.parameters.exclusive) out.value[i] = oracle.result();
      oracle.add(input.in(i));
      double const through = oracle.result();
      if (!input.parameters.exclusive) out.value[i] = through;
      watch(i, i == begin, through);
    }
  }
  return out;
}

// Each tile on its own, if totals are asked for.
template <class T, class Oracle>
ExpectedField totals_of_tiles(PrefixSum::Input<T, Kokkos::HostSpace> const& input, Oracle const& fresh) {
  std::size_t const n = input.in.extent(0);
  std::size_t const count = input.parameters.totals_of(n);
  auto const tile = static_cast<std::size_t>(input.parameters.tile);
  ExpectedField totals{.name = "totals", .shape = {count}, .value = std::vector<double>(count), .scale = {}};
  totals.terms = static_cast<double>(std::min(tile, n));
  for (std::size_t t = 0; t < count; ++t) {
    Oracle oracle = fresh;
    for (std::size_t i = t * tile; i < std::min(n, (t + 1) * tile); ++i) oracle.add(input.in(i));
    totals.value[t] = oracle.result();
  }
  return totals;
}

// The sums of magnitudes of tiles, whose totals are `values`.
template <class T>
std::vector<double> scales_of_tiles(PrefixSum::Input<T, Kokkos::HostSpace> const& input,
                                    std::vector<double> const& values) {
  std::vector<double> scale(input.parameters.totals_of(input.in.extent(0)));
  for (std::size_t i = 0; i < input.in.extent(0) && !scale.empty(); ++i) {
    auto const value = static_cast<double>(input.in(i));
    if (std::isfinite(value)) scale[i / static_cast<std::size_t>(input.parameters.tile)] += std::abs(value);
  }
  for (std::size_t t = 0; t < scale.size(); ++t) scale[t] = verify::scale_of_sum<T>(values[t], scale[t]);
  return scale;
}

// The sums of magnitudes, where the prefixes are `values`.
template <class T>
std::vector<double> scales(PrefixSum::Input<T, Kokkos::HostSpace> const& input, std::vector<double> const& values) {
  std::size_t const n = input.in.extent(0);
  std::size_t const segment = segment_of(input.parameters, n);
  std::vector<double> scale(n);
  double magnitude = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % segment == 0) magnitude = 0;
    if (input.parameters.exclusive) scale[i] = verify::scale_of_sum<T>(values[i], magnitude);
    auto const value = static_cast<double>(input.in(i));
    if (std::isfinite(value)) magnitude += std::abs(value);
    if (!input.parameters.exclusive) scale[i] = verify::scale_of_sum<T>(values[i], magnitude);
  }
  return scale;
}

template <class T>
std::vector<ExpectedField> sums(PrefixSum::Input<T, Kokkos::HostSpace> const& input) {
  ExpectedField totals = totals_of_tiles(input, SumOracle<T>());
  if constexpr (std::is_integral_v<T>) {
    return list_of(scan(input, SumOracle<T>(), [](std::size_t, bool, double) {}), std::move(totals));
  } else {
    verify::ScanProof proof;
    ExpectedField out = scan(input, SumOracle<T>(), [&](std::size_t i, bool first, double prefix) {
      if (first) proof.begin();
      proof.add(static_cast<double>(input.in(i)), prefix);
    });
    if (!proof.holds<T>()) {
      out.scale = scales(input, out.value);
      totals.scale = scales_of_tiles(input, totals.value);
    }
    return list_of(std::move(out), std::move(totals));
  }
}

template <class T>
std::vector<ExpectedField> extremes(PrefixSum::Input<T, Kokkos::HostSpace> const& input, int sign) {
  ExtremeOracle<T> const fresh(sign);
  return list_of(scan(input, fresh, [](std::size_t, bool, double) {}), totals_of_tiles(input, fresh));
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

template std::vector<ExpectedField> PrefixSum::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> PrefixSum::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> PrefixSum::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::prefix_sum
