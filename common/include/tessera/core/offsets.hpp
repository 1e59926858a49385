#pragma once
/// \file
/// Segments of generated input, given by offsets: segment r has the elements offsets[r] to offsets[r + 1] - 1.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>

namespace tessera {

/// Lengths of generated segments.
enum class Lengths : std::uint8_t {
  uniform,    ///< 0 to twice the mean; one in 16 is empty, and the next one longer
  geometric,  ///< as of the gaps between random places: many short ones
  power_law,  ///< segment number k of the longest is about k^(-7/8) of the longest; one in four is empty
};

/// Returns the parameter `rows`: the number of generated segments.
[[nodiscard]] inline ParameterSpec segments_parameter() {
  return extent_parameter("rows", "segments of the generated input; 0: one per 32 elements");
}
/// Returns the number of segments of `size` elements for a value of the parameter `rows`.
[[nodiscard]] inline std::size_t segments_of(std::size_t size, std::int64_t rows) {
  return rows > 0 ? static_cast<std::size_t>(rows) : (size + 31) / 32;
}

/// Returns the parameter `lengths`.
[[nodiscard]] inline ParameterSpec lengths_parameter() {
  return {
      .name = "lengths",
      .help = "lengths of the generated segments: uniform (0 to twice the mean), geometric, or power_law (one is huge)",
      .shapes_generated = true};
}
/// Returns its values.
[[nodiscard]] inline std::vector<std::pair<std::string, Lengths>> lengths_names() {
  return {{"uniform", Lengths::uniform}, {"geometric", Lengths::geometric}, {"power_law", Lengths::power_law}};
}

/// Generated offsets: offset r is a function of r alone, so that any rank or thread can generate its part.
struct Offsets {
  static constexpr std::uint64_t block = 16;  ///< segments that share their places (geometric)

  Lengths lengths;
  std::uint64_t seed;
  std::uint64_t n;     ///< elements
  std::uint64_t rows;  ///< segments

  /// Returns offset r of 0 .. rows. Offsets never fall; the first is 0, the last n.
  [[nodiscard]] std::uint64_t at(std::uint64_t r) const {
    if (r == 0) return 0;
    if (r >= rows) return n;
    switch (lengths) {
      case Lengths::geometric: return geometric(r);
      case Lengths::power_law: return power_law(r % 4 == 2 ? r - 1 : r);
      case Lengths::uniform: break;
    }
    std::uint64_t const place = r % 16 == 9 ? r - 1 : r;
    return share(static_cast<double>(place) + uniform(place));
  }

  /// Returns a bound for the length of the longest segment.
  [[nodiscard]] std::uint64_t longest() const {
    if (rows == 0) return n;
    std::uint64_t const mean = n / rows + 1;
    switch (lengths) {
      case Lengths::geometric: return std::min(n, block * mean);
      case Lengths::power_law: return std::min(n, 2 * (zipf(1) + 1));
      case Lengths::uniform: break;
    }
    return std::min(n, 3 * mean);
  }

 private:
  [[nodiscard]] double uniform(std::uint64_t r) const {
    return static_cast<double>(random_bits(seed, 1, r) >> 11) * 0x1p-53;
  }

  /// Returns the element at which `row` of all rows have passed.
  [[nodiscard]] std::uint64_t share(double row) const {
    return std::min(n, static_cast<std::uint64_t>(static_cast<double>(n) * (row / static_cast<double>(rows))));
  }

  // The segments of a block lie between random places in its range, in order.
  [[nodiscard]] std::uint64_t geometric(std::uint64_t r) const {
    std::uint64_t const first = r / block * block;
    std::uint64_t const end = std::min(rows, first + block);
    std::uint64_t const from = share(static_cast<double>(first));
    if (r == first) return from;
    std::uint64_t const to = end == rows ? n : share(static_cast<double>(end));
    std::array<double, block> places;
    places.fill(1);  // sorted as a whole: of a part, g++ 16 warns that the sort reads behind the array
    for (std::uint64_t i = first + 1; i < end; ++i) places[i - first - 1] = uniform(i);
    std::sort(places.begin(), places.end());
    return from + static_cast<std::uint64_t>(static_cast<double>(to - from) * places[r - first - 1]);
  }

  // The number of elements in the k longest segments. Three square roots: every machine rounds them alike.
  [[nodiscard]] std::uint64_t zipf(std::uint64_t k) const {
    double const part = static_cast<double>(k) / static_cast<double>(rows);
    return std::min(n, static_cast<std::uint64_t>(static_cast<double>(n) * std::sqrt(std::sqrt(std::sqrt(part)))));
  }

  // The segments from the longest to the shortest, rotated, so that the longest lies in the middle of the elements.
  [[nodiscard]] std::uint64_t power_law(std::uint64_t r) const {
    std::uint64_t const behind = rows / 128 + 1;  // segments from the longest on, which hold more than half
    std::uint64_t const longest = rows - behind;
    if (r >= longest) return n - zipf(behind) + zipf(r - longest);
    return zipf(behind + r) - zipf(behind);
  }
};

}  // namespace tessera
