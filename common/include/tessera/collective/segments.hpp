#pragma once
/// \file
/// Consecutive segments of an array: the segment of an element, and the number of elements that follow it there.
///
/// May be called by any lane. No scratch, no barriers.
///
/// Example, n = 8, segments of 3: 0 1 2 | 3 4 5 | 6 7. left(3) = 3, left(5) = 1, left(6) = 2. The part that begins at 4
/// has count 4, and its left_at(0 .. 3) are 2 1 3 2. The same elements as two arrays, 0 .. 3 and 4 .. 7, the second one
/// with first = 4: in the second left(0) = 2, left(2) = 2.

#include <Kokkos_Macros.hpp>

#include <cstddef>
#include <cstdint>

#include <tessera/collective/divider.hpp>

namespace tessera::collective {

/// A part of an array as kernels use it, in 32 bits: larger numbers are clamped, because they are beyond a kernel's
/// reach. Valid for offsets below `far`.
struct SegmentedPart {
  static constexpr int far = 1 << 30;

  int count;               ///< number of elements from the part's first to the array's end
  std::uint32_t position;  ///< position of the part's first element in its segment
  std::uint32_t length;    ///< length of a segment

  /// Returns the number of elements from `offset` to the end of its segment, including `offset`, as if the array had no
  /// end. It divides, so call it once for several neighbours.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int left_at(int offset) const {
    return static_cast<int>(length - (position + static_cast<std::uint32_t>(offset)) % length);
  }
  /// Returns true if the part's first `size` elements exist and are in one segment.
  [[nodiscard]] KOKKOS_FUNCTION constexpr bool is_uncut(int size) const {
    return size <= count && position + static_cast<std::uint32_t>(size) <= length;
  }
};

/// n elements in segments of `length`; the last segment may be shorter. Length 0: the whole array is one segment.
class Segments {
 public:
  /// Call it on the host.
  /// \param first index of the first of the n elements if they are part of a longer array, whose segments begin at its
  ///   index 0
  constexpr Segments(std::size_t n, std::size_t length, std::size_t first = 0)
      : n_(n),
        phase_(is_one(n, length, first) ? 0 : first % length),
        length_(is_one(n, length, first) ? n : length),
        by_length_(length_ == 0 ? 1 : length_) {}

  [[nodiscard]] KOKKOS_FUNCTION constexpr std::size_t size() const { return n_; }

  /// Returns the number of elements from i < n to the end of its segment, including i.
  [[nodiscard]] KOKKOS_FUNCTION constexpr std::size_t left(std::size_t i) const {
    std::size_t const of_segment = length_ - position(i);
    return of_segment < n_ - i ? of_segment : n_ - i;
  }

  /// Returns the part that begins at `begin` < n.
  [[nodiscard]] KOKKOS_FUNCTION constexpr SegmentedPart part(std::size_t begin) const {
    std::size_t const length = clamped(length_);
    std::size_t const of_segment = length_ - position(begin);
    // If a segment is too long for 32 bits, only the distance to its end matters: the position is computed from the
    // end.
    std::size_t const position = length - (of_segment < length ? of_segment : length);
    return {static_cast<int>(clamped(n_ - begin)), static_cast<std::uint32_t>(position),
            static_cast<std::uint32_t>(length)};
  }

 private:
  // True if no segment ends before the array does.
  [[nodiscard]] static constexpr bool is_one(std::size_t n, std::size_t length, std::size_t first) {
    return length == 0 || length - first % length >= n;
  }
  [[nodiscard]] KOKKOS_FUNCTION constexpr std::size_t position(std::size_t i) const {
    std::size_t const counted = i + phase_;
    return counted < length_ ? counted : counted - by_length_(counted) * length_;  // one segment: nothing to divide
  }
  [[nodiscard]] KOKKOS_FUNCTION static constexpr std::size_t clamped(std::size_t elements) {
    constexpr std::size_t far = SegmentedPart::far;
    return elements < far ? elements : far;
  }

  std::size_t n_;
  std::size_t phase_;  // position of the first element in its segment
  std::size_t length_;
  Divider by_length_;
};

}  // namespace tessera::collective
