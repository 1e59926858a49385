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

/// A sum of elements of a dtype, or of products of two elements. int32 wraps. Ranks can exchange it, because it is
/// trivially copyable.
template <class T>
class SumOracle {
 public:
  void add(T element) {
    if constexpr (std::is_integral_v<T>) {
      wrapped_ += static_cast<std::uint32_t>(element);
    } else {
      auto const wide = static_cast<double>(element);
      value_.add(wide);
      add_term(wide, std::isfinite(wide));
    }
  }
  void add_product(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      wrapped_ += static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b);
    } else {
      auto const wide_a = static_cast<double>(a);
      auto const wide_b = static_cast<double>(b);
      value_.add_product_of(a, b);
      add_term(wide_a * wide_b, std::isfinite(wide_a) && std::isfinite(wide_b));
      // The product of two doubles may be rounded here; the proof then does not hold.
      if (std::is_same_v<T, double> && !is_exact_product(a, b)) exact_products_ = false;
    }
  }
  /// Adds another sum.
  void merge(SumOracle const& other) {
    value_.merge(other.value_);
    magnitude_.merge(other.magnitude_);
    grid_.merge(other.grid_);
    exact_products_ = exact_products_ && other.exact_products_;
    wrapped_ += other.wrapped_;
  }

  [[nodiscard]] double value() const {
    if constexpr (std::is_integral_v<T>) return static_cast<double>(static_cast<std::int32_t>(wrapped_));
    return value_.value();
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

  ExactSum value_;
  ExactSum magnitude_;  // exact, so that it does not depend on the parts
  Grid grid_;
  bool exact_products_ = true;
  std::uint32_t wrapped_ = 0;
};

/// Returns the sum to which `add(sum, i)` adds term i, for i of [0, n). Each part is a serial loop; several parts run in
/// parallel, and their sums are added in their order.
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
