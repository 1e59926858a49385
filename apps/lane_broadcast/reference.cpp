/// \file
/// The serial oracle of lane_broadcast: segment by segment, sums in twice double precision.
///
/// If all elements lie on one grid g, and the dtype holds the largest of the scales below on the grid g (basic) or g^2
/// / 4 (shuffle), nothing is rounded in any order (verify/grid.hpp): results must be equal, and there is no scale.
///
/// Error bounds otherwise, with u the unit roundoff, S = sum of the magnitudes of the segment's first min(4, L)
/// elements (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1 and 4.2):
/// - basic: k = 3 additions in any order and one more: |error| <= ((1 + u)^4 - 1) * (|x| + S).
/// - shuffle: the sum has at most 3 roundings, the pair 1, the product 1: |error| <= ((1 + u)^5 - 1) * (|x_i| +
///   |x_i+1|) * S / 4. The division by 4 is exact unless the quotient is below the normal range; then it loses up to
///   half a denorm_min, and the product loses this times the pair's magnitude: (|x_i| + |x_i+1|) * denorm_min,
///   which is added to the scale in units of u.
/// - conditional is exact: a maximum, a comparison (x >= m/2 is x >= the next number of the dtype from m/2 upwards), 2x
///   and the rounded x/2 have one right answer in every bit. A maximum of NaN (any of the first 8 is NaN) compares
///   false.
///
/// If a sum of terms of both signs, or a factor of a product, may exceed the dtype's range, an intermediate result may
/// overflow in some orders only; the element is not checked (scale infinity, verify/wide.hpp). The same holds for an
/// infinity times a sum that may be rounded to either sign. Sums and products of half and bfloat16 are computed in
/// float: u, the grid's bits and the range are float's, and the result is rounded once more (verify/verify.hpp). int32
/// wraps modulo 2^32; its divisions truncate.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::lane_broadcast {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A sum as a double and its rest.
struct HeadSum {
  double value = 0;
  double rest = 0;
  double magnitude = 0;
};

template <class T>
HeadSum head_sum(T const* x, std::size_t count) {
  verify::ExactSum sum;
  HeadSum head;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, count); ++i) {
    double const value = static_cast<double>(x[i]);
    sum.add(value);
    head.magnitude += std::abs(value);
  }
  head.value = sum.value();
  if (std::isfinite(head.value)) {
    sum.add(-head.value);
    head.rest = sum.value();
  }
  return head;
}

/// One segment's results, and what results below the normal range lose. Exact operations leave scales at 0.
struct Results {
  double* value;
  double* scale;
  double* lost;
};

// Returns x + s, rest included, with one rounding.
double sum_with(double x, HeadSum const& s) {
  double const sum = x + s.value;
  double const part = sum - x;
  double const lost = (x - (sum - part)) + (s.value - part) + s.rest;
  return std::isfinite(lost) ? sum + lost : sum;
}

// Returns the largest of number(i), 0 if all are smaller. Takes several at a time: they do not wait for each other.
template <class Number>
double largest_of(std::size_t count, Number const& number) {
  std::array<double, 8> lanes{};
  std::size_t const whole = count / lanes.size() * lanes.size();
  for (std::size_t i = 0; i < whole; i += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane] = std::max(lanes[lane], number(i + lane));
  }
  for (std::size_t i = whole; i < count; ++i) lanes[0] = std::max(lanes[0], number(i));
  return *std::ranges::max_element(lanes);
}

template <class T>
void basic(T const* x, std::size_t count, Results const& out) {
  HeadSum const s = head_sum(x, count);
  if constexpr (std::is_integral_v<T>) {
    for (std::size_t i = 0; i < count; ++i) out.value[i] = verify::stored(x[i] + static_cast<std::int64_t>(s.value));
  } else {
    bool const from_sums = std::isfinite(s.value);  // else the input defines the result; so does a NaN
    for (std::size_t i = 0; i < count; ++i) {
      double const own = static_cast<double>(x[i]);
      out.value[i] = sum_with(own, s);
      double const scale = std::abs(own) + s.magnitude;
      out.scale[i] = from_sums && own == own ? scale : 0;
    }
    // In the dtype's range, the scale of a sum is the sum of magnitudes.
    constexpr auto most = static_cast<double>(std::numeric_limits<Arithmetic<T>>::max());
    if (largest_of(count, [&](std::size_t i) { return out.scale[i]; }) <= most) return;
    for (std::size_t i = 0; i < count; ++i) {
      if (out.scale[i] > 0) out.scale[i] = verify::scale_of_sum<Arithmetic<T>>(out.value[i], out.scale[i]);
    }
  }
}

template <class T>
void conditional(T const* x, std::size_t count, Results const& out) {
  T max = x[0];
  for (std::size_t i = 1; i < std::min<std::size_t>(8, count); ++i) {
    if (x[i] > max || x[i] != x[i]) max = x[i];
  }
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      std::int64_t const own = x[i];
      out.value[i] = verify::stored(2 * own >= max ? 2 * own : own / 2);
    } else {
      // For small max compares 2x with max, because max / 2 may round; else x with max / 2, because 2x may overflow.
      bool const is_large = std::abs(max) < 1 ? 2 * x[i] >= max : x[i] >= max / 2;
      out.value[i] = static_cast<double>(is_large ? 2 * x[i] : x[i] / 2);
    }
  }
}

// Returns (a + b) * s / 4 with one rounding, unless it is below the normal range.
double scaled_pair(double a, double b, HeadSum const& s) {
  double const pair = a + b;
  double const part = pair - a;
  double const pair_rest = (a - (pair - part)) + (b - part);
  double const quarter = s.value / 4;
  double const product = pair * quarter;
  double const lost = std::fma(pair, quarter, -product) + (pair * (s.rest / 4) + pair_rest * quarter);
  return std::isfinite(product) && std::isfinite(lost) ? product + lost : product;
}

template <class T>
void shuffle(T const* x, std::size_t count, Results const& out) {
  HeadSum const s = head_sum(x, count);
  if constexpr (std::is_integral_v<T>) {
    auto const mean = static_cast<std::int64_t>(verify::stored(static_cast<std::int64_t>(s.value))) / 4;
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t const next = i + 1 < count ? x[i + 1] : 0;
      out.value[i] = verify::stored((x[i] + next) * mean);
    }
  } else {
    double const most = static_cast<double>(std::numeric_limits<Arithmetic<T>>::max());
    double const smallest = static_cast<double>(std::numeric_limits<Arithmetic<T>>::denorm_min());
    double const error = 8 * unit_roundoff(dtype_of<Arithmetic<T>>) * s.magnitude + 8 * smallest;  // generous bound
    bool const may_be_zero = std::isfinite(s.value) && !(std::abs(s.value) > error) && s.magnitude > 0;
    for (std::size_t i = 0; i < count; ++i) {
      double const own = static_cast<double>(x[i]);
      double const next = i + 1 < count ? static_cast<double>(x[i + 1]) : 0.0;
      double const pair = std::abs(own) + std::abs(next);
      double const scale = pair * (s.magnitude / 4);
      out.value[i] = scaled_pair(own, next, s);
      bool const is_finite = std::isfinite(pair) || pair > most;
      bool const overflows = is_finite && std::isfinite(s.value) && (pair > most || s.magnitude > most);
      bool const unknown =
          overflows || (!is_finite && may_be_zero) || (is_finite && scale == infinity && std::isfinite(s.value));
      out.scale[i] = unknown ? infinity : scale;
      out.lost[i] = std::isfinite(out.value[i]) ? pair * smallest : 0;
    }
  }
}

}  // namespace

template <class T>
std::vector<ExpectedField> LaneBroadcast::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.in.extent(0);
  std::size_t const segment = input.parameters.segment == 0 ? n : static_cast<std::size_t>(input.parameters.segment);
  BroadcastOp const op = input.parameters.op;
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = {}};
  if (n == 0) return list_of(std::move(out));
  struct OfPart {
    verify::Grid grid;
    double most = 0;
    double largest = 0;
  };
  // In a part of the array, the first segment may have begun earlier; its result is not used.
  std::size_t const head = segment - input.parameters.first % segment;
  // Segments are independent: some segments form a serial loop, and several loops run in parallel. The second sweep
  // makes scales, if they are needed.
  std::size_t const segments = head >= n ? 1 : 1 + blocks_in(n - head, segment);
  std::size_t const together = blocks_in(1 << 16, segment);
  auto const begin_of = [&](std::size_t s) { return s == 0 ? 0 : std::min(n, head + (s - 1) * segment); };
  std::vector<OfPart> parts(blocks_in(segments, together));
  double const unit = unit_roundoff(dtype_of<Arithmetic<T>>);
  auto const sweep = [&] {
    for_blocks(segments, together, [&](std::size_t p, std::size_t first, std::size_t last) {
      std::size_t const length = std::min(n, segment);
      std::vector<double> scale(length);
      std::vector<double> lost(length);
      for (std::size_t s = first; s < last; ++s) {
        std::size_t const begin = begin_of(s);
        std::size_t const count = begin_of(s + 1) - begin;
        T const* const x = input.in.data() + begin;
        Results const results{out.value.data() + begin, out.scale.empty() ? scale.data() : out.scale.data() + begin,
                              lost.data()};
        switch (op) {
          case BroadcastOp::basic: basic(x, count, results); break;
          case BroadcastOp::conditional: conditional(x, count, results); break;
          case BroadcastOp::shuffle: shuffle(x, count, results); break;
        }
        double const* const scales = results.scale;
        parts[p].most = std::max(parts[p].most, largest_of(count, [=](std::size_t i) { return scales[i]; }));
        parts[p].grid.add(x, count);
        parts[p].largest = std::max(
            parts[p].largest, largest_of(count, [&](std::size_t i) { return std::abs(static_cast<double>(x[i])); }));
        if (op == BroadcastOp::shuffle && !out.scale.empty()) {
          for (std::size_t i = 0; i < count; ++i) results.scale[i] += lost[i] / unit;
        }
      }
    });
  };
  sweep();
  if (std::is_integral_v<T> || op == BroadcastOp::conditional) return list_of(std::move(out));
  OfPart all;
  for (OfPart const& one : parts) {
    all.grid.merge(one.grid);
    all.most = std::max(all.most, one.most);
    all.largest = std::max(all.largest, one.largest);
  }
  verify::Grid quarter;
  quarter.add(0.25);
  // The sum and the pair must be exact as well.
  bool const exact = op == BroadcastOp::basic
                         ? all.grid.template holds<Arithmetic<T>>(all.most)
                         : all.grid.times(all.grid).times(quarter).template holds<Arithmetic<T>>(all.most) &&
                               all.grid.template holds<Arithmetic<T>>(4 * all.largest);
  if (!exact) {
    out.scale.resize(n);
    sweep();
  }
  return list_of(std::move(out));
}

}  // namespace tessera::lane_broadcast

template struct tessera::References<tessera::lane_broadcast::LaneBroadcast>;
