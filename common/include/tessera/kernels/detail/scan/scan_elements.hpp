#pragma once
/// \file
/// Elements of a scan: how an element in memory becomes a value of the scan, and a value becomes an element again.
/// Kernels are written once for any ScanElements; the type of the operator selects them.
///
/// Example, sum, exclusive: 3 1 4 -> 0 3 4; in segments of 2: 3 1 4 -> 0 3 0.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <type_traits>

#include <tessera/collective/operators.hpp>

namespace tessera::kernels {

/// Scan of all n elements. Op: associative with an identity; need not be commutative.
template <class T, class Op>
struct ScanElements {
  using Scalar = T;
  using Value = T;
  /// Whether operands may be exchanged, as some libraries do. The operator must declare it.
  static constexpr bool commutative = requires { requires Op::commutative; };

  Op combine{};
  bool exclusive = false;  ///< leave the element itself out of its result

  [[nodiscard]] KOKKOS_FUNCTION Op const& op() const { return combine; }
  /// Returns the value before the first element.
  [[nodiscard]] KOKKOS_FUNCTION T seed() const { return combine.identity(); }
  /// Returns the content of registers without an element.
  [[nodiscard]] KOKKOS_FUNCTION T fill() const { return combine.identity(); }
  /// Returns the value of element i.
  [[nodiscard]] KOKKOS_FUNCTION Value lift(std::size_t, T const& element) const { return element; }
  /// Returns the value of element i, or the identity if there is fill() instead of an element.
  [[nodiscard]] KOKKOS_FUNCTION Value lift_if(bool, std::size_t, T const& element) const { return element; }
  /// Returns the element to store at i, given the scan without and with element i.
  [[nodiscard]] KOKKOS_FUNCTION T lower(std::size_t, Value const& before, Value const& through) const {
    return exclusive ? before : through;
  }
  /// Adds the total before a tile to an element that a scan of only this tile has stored.
  [[nodiscard]] KOKKOS_FUNCTION T add_before(std::size_t, std::size_t, Value const& prefix, T const& local) const {
    return combine(prefix, local);
  }
};

/// Scan of each consecutive segment of `segment` elements; the last segment may be shorter.
template <class T, class Op>
struct ScanElements<T, collective::SegmentedOperator<T, Op>> {
  using Scalar = T;
  using Value = collective::Segmented<T>;
  static constexpr bool commutative = false;

  collective::SegmentedOperator<T, Op> combine{};
  bool exclusive = false;
  std::size_t segment = 1;  ///< elements of a segment, at least 1

  [[nodiscard]] KOKKOS_FUNCTION collective::SegmentedOperator<T, Op> const& op() const { return combine; }
  [[nodiscard]] KOKKOS_FUNCTION Value seed() const { return combine.identity(); }
  [[nodiscard]] KOKKOS_FUNCTION T fill() const { return combine.op.identity(); }
  [[nodiscard]] KOKKOS_FUNCTION Value lift(std::size_t i, T const& element) const {
    return {element, i % segment == 0 ? 1 : 0};
  }
  // A place without an element may be at the head of a segment, but must not be marked as a head.
  [[nodiscard]] KOKKOS_FUNCTION Value lift_if(bool there, std::size_t i, T const& element) const {
    return there ? lift(i, element) : combine.identity();
  }
  [[nodiscard]] KOKKOS_FUNCTION T lower(std::size_t i, Value const& before, Value const& through) const {
    if (!exclusive) return through.value;
    return i % segment == 0 ? combine.op.identity() : before.value;
  }
  [[nodiscard]] KOKKOS_FUNCTION T add_before(std::size_t i, std::size_t tile_begin, Value const& prefix,
                                             T const& local) const {
    // The prefix does not reach i if a segment begins between the tile's begin and i.
    return i - i % segment >= tile_begin ? local : combine.op(prefix.value, local);
  }
};

/// As ScanElements' operator, selects a part of an array whose scan starts from the total before it.
template <class Op, class Memory>
struct OperatorOfPart {};

/// Scan of an array's elements from `first` on. `before` (rank 0) holds the total of the elements before them (in their
/// segment). The first tile reads it during the launch, so that it need not be known when the scan is constructed.
///
/// For LookBackScan and ReduceThenScan. Example, sum, before = 6: 4 5 -> 10 15.
template <class T, class Op, class Memory>
struct ScanElements<T, OperatorOfPart<Op, Memory>> {
  using Whole = ScanElements<T, Op>;
  using Scalar = T;
  using Value = typename Whole::Value;
  static constexpr bool commutative = Whole::commutative;

  Whole whole{};
  std::size_t first = 0;
  Kokkos::View<T, Memory> before;

  [[nodiscard]] KOKKOS_FUNCTION auto const& op() const { return whole.op(); }
  [[nodiscard]] KOKKOS_FUNCTION Value seed() const {
    if constexpr (std::is_same_v<Value, T>) {
      return before();
    } else {
      return {before(), 0};  // 0: no segment begins within it
    }
  }
  [[nodiscard]] KOKKOS_FUNCTION T fill() const { return whole.fill(); }
  [[nodiscard]] KOKKOS_FUNCTION Value lift(std::size_t i, T const& element) const {
    return whole.lift(first + i, element);
  }
  [[nodiscard]] KOKKOS_FUNCTION Value lift_if(bool there, std::size_t i, T const& element) const {
    return whole.lift_if(there, first + i, element);
  }
  [[nodiscard]] KOKKOS_FUNCTION T lower(std::size_t i, Value const& before_it, Value const& through) const {
    return whole.lower(first + i, before_it, through);
  }
};

}  // namespace tessera::kernels
