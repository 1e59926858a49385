#pragma once
/// \file
/// Sums for the references: the value, the proof that it is exact in any order, and otherwise the scale of its error.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tessera/core/half.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/core/types.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::verify {

/// The value of a sum of elements of a dtype, or of products of two elements: in twice double precision; integers wrap.
template <class T>
class WideSum {
  using Wrapped = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                              std::type_identity<std::uint32_t>>::type;

 public:
  void add(T element) {
    if constexpr (std::is_integral_v<T>) {
      wrapped_ += static_cast<Wrapped>(element);
    } else {
      sum_.add(static_cast<double>(element));
    }
  }
  /// Adds a sum of elements that double holds. Not for integers.
  void add_exact(double sum) { sum_.add(sum); }
  void add_product(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      wrapped_ += static_cast<Wrapped>(a) * static_cast<Wrapped>(b);
    } else {
      sum_.add_product_of(a, b);
    }
  }
  /// Adds a sum of later elements.
  void merge(WideSum const& later) {
    wrapped_ += later.wrapped_;
    sum_.merge(later.sum_);
  }

  [[nodiscard]] double value() const {
    if constexpr (std::is_integral_v<T>) return static_cast<double>(integer());
    return sum_.value();
  }
  /// Returns the sum of integers: a double does not hold all of 64 bits.
  [[nodiscard]] T integer() const
    requires std::is_integral_v<T>
  {
    return static_cast<T>(wrapped_);
  }

 private:
  Wrapped wrapped_ = 0;
  ExactSum sum_;
};

/// Such a sum with what its error depends on. Ranks can exchange it, because it is trivially copyable.
template <class T>
class SumOracle {
 public:
  void add(T element) {
    value_.add(element);
    if constexpr (Floating<T>) add_term(static_cast<double>(element), std::isfinite(static_cast<double>(element)));
  }
  /// Adds neighbouring elements. The same sum, faster: if a grid proves that doubles hold every sum of them, they are
  /// added as doubles.
  void add(T const* elements, std::size_t count) {
    if constexpr (Floating<T>) {
      Grid grid;
      grid.add(elements, count);
      double sum = 0;
      double magnitude = 0;
      for (std::size_t i = 0; i < count; ++i) {
        sum += static_cast<double>(elements[i]);
        magnitude += std::abs(static_cast<double>(elements[i]));
      }
      if (grid.holds<double>(magnitude)) {
        value_.add_exact(sum);
        magnitude_.add(magnitude);
        grid_.merge(grid);
        return;
      }
    }
    for (std::size_t i = 0; i < count; ++i) add(elements[i]);
  }
  void add_product(T a, T b) {
    value_.add_product(a, b);
    if constexpr (Floating<T>) {
      auto const wide_a = static_cast<double>(a);
      auto const wide_b = static_cast<double>(b);
      add_term(wide_a * wide_b, std::isfinite(wide_a) && std::isfinite(wide_b));
      // The product of two doubles may be rounded here; the proof then does not hold.
      if (std::is_same_v<T, double> && !is_exact_product(a, b)) exact_products_ = false;
    }
  }
  /// Adds a sum of later elements.
  void merge(SumOracle const& later) {
    value_.merge(later.value_);
    magnitude_.merge(later.magnitude_);
    grid_.merge(later.grid_);
    exact_products_ = exact_products_ && later.exact_products_;
  }

  [[nodiscard]] double value() const { return value_.value(); }
  [[nodiscard]] T integer() const
    requires std::is_integral_v<T>
  {
    return value_.integer();
  }
  /// True if no addition in any order rounds, fused or not (grid.hpp).
  [[nodiscard]] bool is_exact() const {
    return exact_products_ && grid_.template holds<Arithmetic<T>>(magnitude_.value());
  }
  /// True if an exact sum may have more bits than T: ExpectedField::rounded_sums.
  [[nodiscard]] bool rounds() const { return ShortFloat<T> && !grid_.template holds<T>(std::abs(value())); }
  /// Returns the scale of the error if the sum is not exact.
  [[nodiscard]] double scale() const { return scale_of_sum<Arithmetic<T>>(value(), magnitude_.value()); }
  /// Returns ExpectedField::grid.
  [[nodiscard]] double spacing() const { return grid_.spacing(); }

  /// Returns the scalar field of the sum. `lost` is the absolute error of products below the smallest number.
  [[nodiscard]] ExpectedField field(std::string name, double lost = 0) const {
    ExpectedField field{.name = std::move(name), .shape = {}, .value = {value()}, .scale = {}, .grid = spacing()};
    if (is_exact()) {
      field.rounded_sums = rounds();
    } else {
      field.scale = {scale() + lost / unit_roundoff(dtype_of<Arithmetic<T>>)};
    }
    return field;
  }

 private:
  void add_term(double term, bool is_finite) {
    grid_.add(term);
    if (is_finite) magnitude_.add(std::abs(term));
  }

  WideSum<T> value_;
  ExactSum magnitude_;  // exact, so that it does not depend on the parts
  Grid grid_;
  bool exact_products_ = true;
};

/// Returns the sum to which `add(sum, i)` adds term i, for i of [0, n). Each part is a serial loop; several parts run
/// in parallel, and their sums are added in their order.
template <class T, class Add>
[[nodiscard]] SumOracle<T> sum_by_parts(std::size_t n, Add const& add) {
  std::vector<SumOracle<T>> parts(blocks_in(n, part_elements()));
  for_blocks(n, part_elements(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    SumOracle<T> sum;
    for (std::size_t i = begin; i < end; ++i) add(sum, i);
    parts[part] = sum;
  });
  SumOracle<T> all;
  for (SumOracle<T> const& part : parts) all.merge(part);
  return all;
}

}  // namespace tessera::verify
