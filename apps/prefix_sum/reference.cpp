/// \file
/// The serial oracle of prefix_sum: one loop, a sum in twice double precision.
///
/// Error bound. A variant computes each output as a tree of additions of in[begin..i]. With k the longest chain of
/// additions in it and u the unit roundoff, the error is at most ((1 + u)^k - 1) * sum |in[j]| (Higham, Accuracy and
/// Stability of Numerical Algorithms, 4.2). So the scale of an element is the sum of magnitudes up to it; k is the
/// variant's. Where that sum exceeds the dtype's range, a partial result may overflow in one order and not in another:
/// nothing can be asked (scale infinity). max and min round nothing: scale 0.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "problem.hpp"

#include <tessera/verify/exact_sum.hpp>

namespace tessera::prefix_sum {

namespace {

template <class T>
struct Accumulated {
  double value;
  double scale;
};

template <class T>
class SumOracle {
 public:
  void add(T value) {
    if constexpr (std::is_integral_v<T>) {
      wrapped_ += static_cast<std::uint32_t>(value);
    } else {
      sum_.add(static_cast<double>(value));
      if (std::isfinite(value)) magnitude_ += std::abs(static_cast<double>(value));
    }
  }
  [[nodiscard]] Accumulated<T> result() const {
    if constexpr (std::is_integral_v<T>) {
      return {static_cast<double>(static_cast<std::int32_t>(wrapped_)), 0.0};
    } else {
      bool const may_overflow = magnitude_ > static_cast<double>(std::numeric_limits<T>::max());
      return {sum_.value(), may_overflow ? std::numeric_limits<double>::infinity() : magnitude_};
    }
  }

 private:
  std::uint32_t wrapped_ = 0;
  verify::ExactSum sum_;
  double magnitude_ = 0;
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
  [[nodiscard]] Accumulated<T> result() const { return {extreme_, 0.0}; }

 private:
  int sign_;
  double extreme_;
};

template <class T, class Oracle>
ExpectedField scan(PrefixSum::Input<T, Kokkos::HostSpace> const& input, Oracle const& fresh) {
  std::size_t const n = input.in.extent(0);
  ExpectedField out{.name = "out", .shape = {n}, .value = std::vector<double>(n), .scale = std::vector<double>(n)};
  std::size_t const segment = input.parameters.segment == 0 ? n : input.parameters.segment;
  Oracle oracle = fresh;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % segment == 0) oracle = fresh;
    if (input.parameters.exclusive) {
      Accumulated<T> const before = oracle.result();
      out.value[i] = before.value;
      out.scale[i] = before.scale;
    }
    oracle.add(input.in(i));
    if (!input.parameters.exclusive) {
      Accumulated<T> const through = oracle.result();
      out.value[i] = through.value;
      out.scale[i] = through.scale;
    }
  }
  return out;
}

}  // namespace

template <class T>
std::vector<ExpectedField> PrefixSum::reference(Input<T, Kokkos::HostSpace> const& input) {
  switch (input.parameters.op) {
    case collective::OperatorKind::max: return {scan(input, ExtremeOracle<T>(+1))};
    case collective::OperatorKind::min: return {scan(input, ExtremeOracle<T>(-1))};
    default: return {scan(input, SumOracle<T>())};
  }
}

template std::vector<ExpectedField> PrefixSum::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> PrefixSum::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> PrefixSum::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::prefix_sum
