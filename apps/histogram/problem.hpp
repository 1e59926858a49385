#pragma once
/// \file
/// histogram: how many elements lie in each of `bins` equal bins over [lo, hi), and how many lie outside.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::histogram {

/// Of generated elements. One in 64 of the first two lies outside of [lo, hi).
enum class Distribution : std::uint8_t {
  uniform,   ///< all values equally likely
  zipf,      ///< value number r of 2^16 with a probability of about 1 / r
  constant,  ///< one value
};

struct Parameters {
  std::int64_t bins = 256;
  double lo = 0;
  double hi = 1 << 20;
  Distribution distribution = Distribution::uniform;
  std::int64_t tile = 0;  ///< elements that a team counts; 0: the variant's choice
  std::int64_t team = 0;  ///< threads; 0: the variant's choice

  /// Throws UserError unless lo < hi, both finite.
  [[nodiscard]] static Parameters from(ParameterMap const& map);
};

struct Histogram : ArrayProblem<Parameters> {
  static constexpr AppInfo info{.name = "histogram",
                                .summary = "counts[b] = elements in bin b of [lo, hi), outside = elements in none"};

  [[nodiscard]] static std::vector<ParameterSpec> parameters();

  static constexpr std::array data = data_kinds;

  /// Throws UserError if the dtype cannot tell such bins apart: int32 has edges at whole numbers, float does not have
  /// every double.
  static void check(Parameters const& parameters, DType dtype);

  /// counts [bins] and outside [], of 64 bits in a run of any dtype: 2^31 elements in one bin are a case to be had.
  template <class T, class Memory>
  struct Output {
    Array<std::int64_t*, Memory> counts;
    Array<std::int64_t, Memory> outside;

    static constexpr std::array<std::string_view, 2> names{"counts", "outside"};
    static auto fields(auto& self) { return std::tie(self.counts, self.outside); }
  };

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const&, Parameters const& parameters) {
    return {{static_cast<std::size_t>(parameters.bins)}, {}};
  }

  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&);

  /// The elements read once, the counts written once; a subtraction and a multiplication an element.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    return {.bytes = n * static_cast<double>(size_of(dtype)) + (static_cast<double>(parameters.bins) + 1) * 8,
            .flops = 2 * n};
  }

  /// Counts are exact.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// The rule of the bins, which is the specification: an element that is not in [lo, hi) (NaN is not) is outside;
/// another is in bin floor((x - lo) * scale) with scale = bins / (hi - lo), or in the last where that rounds up to
/// `bins`. lo, hi and bins are rounded to T first, and every operation is one of T, rounded once: a subtraction that is
/// followed by a multiplication cannot be fused, so that all machines say the same.
///
/// Against exact arithmetic x goes to a neighbouring bin at most where it is within 4 u (x - lo) of an inner edge, u
/// the unit roundoff of T.
///
/// Example, 4 bins over [0, 2): -0.1 -> outside, 0 -> 0, 0.5 -> 1, 1.99 -> 3, 2 -> outside.
template <class T>
struct Bins {
  T lo;
  T hi;
  T scale;
  std::int32_t count;

  explicit Bins(Histogram::Parameters const& of)
      : lo(static_cast<T>(of.lo)),
        hi(static_cast<T>(of.hi)),
        scale(static_cast<T>(of.bins) / (hi - lo)),
        count(static_cast<std::int32_t>(of.bins)) {}

  /// The bin of x; `count` if it is outside.
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t operator()(T x) const {
    // Without a branch, or an operation that only some elements need: hosts make vectors of it (GCC of just these
    // steps).
    bool const inside = static_cast<bool>(static_cast<int>(x >= lo) & static_cast<int>(x < hi));
    std::int32_t const last = count - 1;
    T place = (x - lo) * scale;
    // What is outside may not fit into an integer. A GPU converts to the nearest there is, and NaN to 0; a host must not
    // be asked.
    KOKKOS_IF_ON_HOST((T const most = static_cast<T>(last); T const below = place < most ? place : most;
                       place = below > 0 ? below : T(0);))
    auto const bin = static_cast<std::int32_t>(place);
    std::int32_t const capped = bin < last ? bin : last;
    std::int32_t const mask = -static_cast<std::int32_t>(inside);
    return (capped & mask) | (count & ~mask);
  }
};

/// Of integers: lo and hi are whole numbers, and the bin is floor((x - lo) * bins / (hi - lo)) exactly, without a
/// division. With m = floor(bins * 2^32 / (hi - lo)) and d = x - lo < hi - lo <= 2^32, d * m / 2^32 is below the
/// quotient by less than 1, and d * m < bins * 2^32 fits into 64 bits: its floor is the bin or the one before it, and the
/// remainder tells which.
template <>
struct Bins<std::int32_t> {
  std::uint32_t lo;    // modulo 2^32, as the distance is
  std::uint32_t last;  // the largest distance inside: hi - lo - 1
  std::uint64_t multiplier;
  std::int32_t count;

  explicit Bins(Histogram::Parameters const& of)
      : lo(static_cast<std::uint32_t>(static_cast<std::int64_t>(of.lo))),
        last(static_cast<std::uint32_t>(width_of(of) - 1)),
        multiplier((static_cast<std::uint64_t>(of.bins) << 32) / width_of(of)),
        count(static_cast<std::int32_t>(of.bins)) {}

  [[nodiscard]] KOKKOS_FUNCTION std::int32_t operator()(std::int32_t x) const {
    std::uint32_t const distance = static_cast<std::uint32_t>(x) - lo;
    auto const below = static_cast<std::uint32_t>((distance * multiplier) >> 32);
    std::uint64_t const rest = static_cast<std::uint64_t>(distance) * static_cast<std::uint32_t>(count) -
                               static_cast<std::uint64_t>(below) * (static_cast<std::uint64_t>(last) + 1);
    auto const bin = static_cast<std::int32_t>(below + static_cast<std::uint32_t>(rest > last));
    std::int32_t const inside = -static_cast<std::int32_t>(distance <= last);  // no branch, as above
    return (bin & inside) | (count & ~inside);
  }

 private:
  [[nodiscard]] static std::uint64_t width_of(Histogram::Parameters const& of) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(of.hi) - static_cast<std::int64_t>(of.lo));
  }
};

}  // namespace tessera::histogram
