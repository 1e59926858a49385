#pragma once
/// \file
/// Binary operators of scans and reductions: associative, with an identity, not necessarily commutative. Also the
/// function of maps that add a constant.

#include <Kokkos_Macros.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tessera/core/half.hpp>

namespace tessera::collective {

/// The requirements of every collective on its operator: `op(earlier, later)` is associative, and `op.identity()`
/// satisfies `op(identity, x) == x == op(x, identity)`. It need not commute, because collectives keep the order of
/// elements.
template <class Op, class T>
concept OperatorOn = requires(Op const& op, T const& a, T const& b) {
  { op(a, b) } -> std::convertible_to<T>;
  { op.identity() } -> std::convertible_to<T>;
};

/// a + b. Integers wrap modulo 2^n; signed integers are added as unsigned ones.
template <class T>
struct Sum {
  static constexpr bool commutative = true;

  [[nodiscard]] KOKKOS_FUNCTION constexpr T identity() const { return T(0); }
  [[nodiscard]] KOKKOS_FUNCTION constexpr T operator()(T const& a, T const& b) const {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
};

/// x + c: a function of one element, for maps. Integers wrap.
template <class T>
struct AddConstant {
  T c;
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T const& x) const { return Sum<T>{}(x, c); }
};

namespace detail {
// Constants, since nvcc warns when device code calls functions of the standard library.
template <class T>
inline constexpr T least = Floating<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
template <class T>
inline constexpr T greatest = Floating<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}  // namespace detail

/// The larger of two values. A NaN on either side gives NaN, as in numpy.maximum.
template <class T>
struct Max {
  static constexpr bool commutative = true;

  [[nodiscard]] KOKKOS_FUNCTION constexpr T identity() const { return detail::least<T>; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr T operator()(T const& a, T const& b) const {
    // `a != a` detects a NaN without a header that some back ends lack on the device. Values are copied, and two
    // selections replace `||`, because GCC does not vectorise references and branches.
    T const x = a;
    T const y = b;
    T const larger = x >= y ? x : y;
    return x != x ? x : larger;
  }
};

/// The smaller of two values. A NaN on either side gives NaN, as in numpy.minimum.
template <class T>
struct Min {
  static constexpr bool commutative = true;

  [[nodiscard]] KOKKOS_FUNCTION constexpr T identity() const { return detail::greatest<T>; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr T operator()(T const& a, T const& b) const {
    T const x = a;
    T const y = b;
    T const smaller = x <= y ? x : y;
    return x != x ? x : smaller;
  }
};

enum class OperatorKind : std::uint8_t { sum, max, min };

/// One of the three operators, chosen at run time. Use it if a branch costs little: it saves two thirds of the
/// compilation.
template <class T>
struct AnyOperator {
  OperatorKind kind = OperatorKind::sum;

  [[nodiscard]] KOKKOS_FUNCTION constexpr T identity() const {
    switch (kind) {
      case OperatorKind::max: return Max<T>{}.identity();
      case OperatorKind::min: return Min<T>{}.identity();
      default: return Sum<T>{}.identity();
    }
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr T operator()(T const& a, T const& b) const {
    switch (kind) {
      case OperatorKind::max: return Max<T>{}(a, b);
      case OperatorKind::min: return Min<T>{}(a, b);
      default: return Sum<T>{}(a, b);
    }
  }
};

/// A value and a flag. `head` is 1 if a segment begins within the elements that the value stands for, else 0.
template <class T>
struct Segmented {
  T value;
  std::int32_t head;
};

/// The segmented form of an operator: values before a segment's head do not affect results after it. Associative, not
/// commutative. Source: Blelloch, Prefix sums and their applications (1990), section 1.5.
template <class T, class Op>
struct SegmentedOperator {
  Op op;

  [[nodiscard]] KOKKOS_FUNCTION constexpr Segmented<T> identity() const { return {op.identity(), 0}; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr Segmented<T> operator()(Segmented<T> const& a, Segmented<T> const& b) const {
    return {b.head ? b.value : op(a.value, b.value), a.head | b.head};
  }
};

}  // namespace tessera::collective
