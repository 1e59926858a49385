#pragma once
/// \file
/// Consecutive segments of an array: which elements belong together, and how many of them follow an element.
///
/// Who calls: any lane, by itself. Scratch, barriers: none.
///
/// Example, n = 8, segments of 3: 0 1 2 | 3 4 5 | 6 7. left(3) = 3, left(5) = 1, left(6) = 2. The part from 4 on has
/// count 4, and left_at(offset) of it is 2 1 3 2. The same as two arrays, 0 .. 3 and, with first 4, 4 .. 7: in the second
/// left(0) = 2, left(2) = 2.

#include <Kokkos_Macros.hpp>

#include <cstddef>
#include <cstdint>

#include <tessera/collective/divider.hpp>

namespace tessera::collective {

/// What kernels need to know of a part of an array, in 32 bits: larger numbers are clamped, since they lie beyond a
/// kernel's reach. Right for offsets below `far`.
struct SegmentedPart {
  static constexpr int far = 1 << 30;

  int count;               ///< elements from the part's begin to the array's end
  std::uint32_t position;  ///< of the part's first element in its segment
  std::uint32_t length;    ///< of a segment

  /// Elements from `offset` to the end of its segment, itself included, as if the array had no end. It divides, so call
  /// it once for several neighbours.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int left_at(int offset) const {
    return static_cast<int>(length - (position + static_cast<std::uint32_t>(offset)) % length);
  }
  /// True if the part's first `size` elements exist and are in one segment.
  [[nodiscard]] KOKKOS_FUNCTION constexpr bool is_uncut(int size) const {
    return size <= count && position + static_cast<std::uint32_t>(size) <= length;
  }
};

/// n elements in segments of `length`, the last of which may be short; 0: the whole array is one segment.
class Segments {
 public:
  /// Who calls: the host.
  /// \param first index of the first of the n elements, if they are a part of a longer array, where segments begin at 0
  constexpr Segments(std::size_t n, std::size_t length, std::size_t first = 0)
      : n_(n),
        phase_(is_one(n, length, first) ? 0 : first % length),
        length_(is_one(n, length, first) ? n : length),
        by_length_(length_ == 0 ? 1 : length_) {}

  [[nodiscard]] KOKKOS_FUNCTION constexpr std::size_t size() const { return n_; }

  /// Elements from i < n to the end of its segment, itself included.
  [[nodiscard]] KOKKOS_FUNCTION constexpr std::size_t left(std::size_t i) const {
    std::size_t const of_segment = length_ - position(i);
    return of_segment < n_ - i ? of_segment : n_ - i;
  }

  /// The part that begins at `begin` < n.
  [[nodiscard]] KOKKOS_FUNCTION constexpr SegmentedPart part(std::size_t begin) const {
    std::size_t const length = clamped(length_);
    std::size_t const of_segment = length_ - position(begin);
    // In a segment too long for 32 bits only the distance to its end counts, so the position is computed from there.
    std::size_t const position = length - (of_segment < length ? of_segment : length);
    return {static_cast<int>(clamped(n_ - begin)), static_cast<std::uint32_t>(position),
            static_cast<std::uint32_t>(length)};
  }

 private:
  // Whether no segment ends before the array does.
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
