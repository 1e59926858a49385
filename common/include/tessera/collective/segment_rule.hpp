#pragma once
/// \file
/// Rules for what becomes of an element of a segment: from the element, one neighbour, and a fold of the segment's first
/// elements, or of all. A rule is written once; how the fold reaches everybody (lanes, scratch) is the collectives' part:
/// device/segment_lanes.hpp, device/segment_scratch.hpp.
///
/// A rule is a type for the device with
///   using Element, Folded;
///   static constexpr int reach;             // 0: folds nothing; 4, 8 ..: folds the segment's first `reach` elements, a
///                                           // power of two up to 16; longest_segment: folds the whole segment
///   static constexpr Neighbour neighbour;   // which other element it looks at
///   Folded nothing() const;                 // combine(nothing(), f) is f, in every bit
///   Folded lift(Element x) const;
///   Folded combine(Folded a, Folded b) const;               // associative; commutative where it folds whole segments
///   Settled settle(Folded f) const;                         // what finish wants to know of the fold, once for several
///   Element alone(Element x) const;                         // stands for a neighbour that is not there
///   Element finish(Element x, Element neighbour, Settled settled, bool odd) const;   // odd: the position in the segment
///
/// A fold of the first `reach` elements is a tree: 0 with 1, 2 with 3, then those two, and so on, so that every variant
/// gives the same bits.
///
/// Example, sum of the first 4 added to each, segments of 5: 1 2 3 4 5 | 6 7 -> 11 12 13 14 15 | 19 20.

#include <Kokkos_Macros.hpp>

#include <concepts>
#include <cstdint>

namespace tessera::collective {

/// Elements of a segment at most, unless the whole array is one.
inline constexpr int longest_segment = 1024;

/// The other element that a rule looks at: none, the next one, or the one at the position xor 1.
enum class Neighbour : std::uint8_t { none, next, partner };

template <class R>
concept SegmentRule = requires(R const& rule, typename R::Element x, typename R::Folded folded) {
  { R::reach } -> std::convertible_to<int>;
  { R::neighbour } -> std::convertible_to<Neighbour>;
  { rule.nothing() } -> std::same_as<decltype(folded)>;
  { rule.lift(x) } -> std::same_as<decltype(folded)>;
  { rule.combine(folded, folded) } -> std::same_as<decltype(folded)>;
  { rule.alone(x) } -> std::same_as<decltype(x)>;
  { rule.finish(x, x, rule.settle(folded), true) } -> std::same_as<decltype(x)>;
};

template <class R>
inline constexpr bool folds = R::reach > 0;
template <class R>
inline constexpr bool folds_whole_segments = R::reach >= longest_segment;

/// What a rule that folds nothing says of it.
template <class T>
struct FoldsNothing {
  struct Folded {};
  static constexpr int reach = 0;

  [[nodiscard]] KOKKOS_FUNCTION Folded nothing() const { return {}; }
  [[nodiscard]] KOKKOS_FUNCTION Folded lift(T) const { return {}; }
  [[nodiscard]] KOKKOS_FUNCTION Folded combine(Folded, Folded) const { return {}; }
  [[nodiscard]] KOKKOS_FUNCTION Folded settle(Folded) const { return {}; }
};

/// The fold of the first `reach` of `count` elements, or of those that are there.
///
/// Who calls: any lane, by itself. Scratch, barriers: none.
template <SegmentRule Rule>
[[nodiscard]] KOKKOS_FUNCTION typename Rule::Folded fold_head(Rule const& rule, typename Rule::Element const* segment,
                                                              int count) {
  static_assert(Rule::reach >= 1 && Rule::reach <= 16, "Tessera: a segment's head has 1 to 16 elements");
  typename Rule::Folded of[Rule::reach];
  for (int i = 0; i < Rule::reach; ++i) of[i] = i < count ? rule.lift(segment[i]) : rule.nothing();
  for (int stride = 1; stride < Rule::reach; stride *= 2) {
    for (int left = 0; left < Rule::reach; left += 2 * stride) of[left] = rule.combine(of[left], of[left + stride]);
  }
  return of[0];
}

}  // namespace tessera::collective
