#pragma once
/// \file
/// Sums of a reference where every order of additions gives the same result, or none matters: several at a time, so
/// that elements do not wait for each other.

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace tessera::verify {

/// Sums that grow at the same time.
inline constexpr std::size_t sum_lanes = 16;

/// Calls `add(lane, i)` for each of `count` elements, `sum_lanes` neighbours with different lanes. Inline, because
/// sums stay in registers only then.
template <class Add>
[[gnu::always_inline]] inline void add_in_lanes(std::size_t count, Add const& add) {
  std::size_t const whole = count / sum_lanes * sum_lanes;
  for (std::size_t i = 0; i < whole; i += sum_lanes) {
    for (std::size_t lane = 0; lane < sum_lanes; ++lane) add(lane, i + lane);
  }
  for (std::size_t i = whole; i < count; ++i) add(0, i);
}

/// Returns the sums, in double, of the elements and of their magnitudes.
template <class T>
[[nodiscard, gnu::always_inline]] inline std::pair<double, double> plain_sums(T const* a, std::size_t count) {
  std::array<double, sum_lanes> sums{};
  std::array<double, sum_lanes> magnitudes{};
  add_in_lanes(count, [&](std::size_t lane, std::size_t i) {
    auto const element = static_cast<double>(a[i]);
    sums[lane] += element;
    magnitudes[lane] += std::abs(element);
  });
  return {std::accumulate(sums.begin(), sums.end(), 0.0), std::accumulate(magnitudes.begin(), magnitudes.end(), 0.0)};
}

}  // namespace tessera::verify
