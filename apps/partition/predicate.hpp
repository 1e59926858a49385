#pragma once
/// \file
/// `x < pivot` in x's own type: a GPU compares floats as fast as it copies them, but not doubles.

#include <Kokkos_Macros.hpp>

#include <cmath>
#include <limits>
#include <type_traits>

namespace tessera::partition {

/// Returns whether x of type T is less than the pivot, a double: the same as `double(x) < pivot`.
///
/// For floating types, x < pivot is the same as x < t with t the smallest number of T that is not less than the pivot:
/// no number of T lies between the pivot and t. For int32, t is the pivot rounded up; if t is above the largest int32,
/// all x are less. No x is less than a NaN.
template <class T>
class LessThanPivot {
 public:
  explicit LessThanPivot(double pivot) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T>) {
      double const above = std::ceil(pivot);
      all_ = above > static_cast<double>(Limits::max());
      threshold_ = Limits::lowest();
      if (!all_ && above > static_cast<double>(Limits::lowest())) threshold_ = static_cast<T>(above);
    } else if (pivot > static_cast<double>(Limits::max())) {
      threshold_ = Limits::infinity();
    } else if (pivot < static_cast<double>(Limits::lowest())) {
      threshold_ = std::isinf(pivot) ? -Limits::infinity() : Limits::lowest();
    } else {
      threshold_ = static_cast<T>(pivot);
      if (static_cast<double>(threshold_) < pivot) threshold_ = std::nextafter(threshold_, Limits::infinity());
    }
  }

  /// A NaN is not less than any pivot. Can be called by any thread.
  [[nodiscard]] KOKKOS_FUNCTION bool operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return all_ || x < threshold_;
    } else {
      return x < threshold_;
    }
  }

 private:
  T threshold_{};
  bool all_ = false;
};

}  // namespace tessera::partition
