#pragma once
/// \file
/// The bin of an element with --bins: computed in double for every dtype, one operation after the other, so that all
/// machines agree.

#include <Kokkos_Macros.hpp>

#include <cmath>

#include "problem.hpp"

namespace tessera::partition {

template <class T>
class PivotBins {
 public:
  explicit PivotBins(Parameters const& parameters)
      : pivot_(parameters.pivot),
        width_(parameters.width),
        per_width_(exact_reciprocal(parameters.width)),
        last_(static_cast<int>(parameters.bins) - 1) {}

  /// Returns 0 if x is less than the pivot, then one more per width; the last bin has the rest, and NaN. Can be called
  /// by any thread.
  [[nodiscard]] KOKKOS_FUNCTION int operator()(T x) const {
    auto const wide = static_cast<double>(x);
    if (wide < pivot_) return 0;
    double const widths = per_width_ > 0 ? (wide - pivot_) * per_width_ : (wide - pivot_) / width_;
    return widths < last_ - 1 ? static_cast<int>(widths) + 1 : last_;
  }

 private:
  // Returns 1 / width if the width is a power of two: then the product is the quotient, bit by bit, and a GPU divides
  // doubles in some thirty instructions. Returns 0 otherwise.
  [[nodiscard]] static double exact_reciprocal(double width) {
    int exponent = 0;
    bool const is_exact = std::frexp(width, &exponent) == 0.5 && std::isnormal(width) && std::isnormal(1 / width);
    return is_exact ? 1 / width : 0;
  }

  double pivot_;
  double width_;
  double per_width_;
  int last_;
};

/// Throws Skip for several segments and --right reversed, for variants that split the whole array into bins.
inline void require_whole_bins(Parameters const& parameters, std::size_t n) {
  require_one_segment(parameters, n);
  require_kept_order(parameters);
}

}  // namespace tessera::partition
