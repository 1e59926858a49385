#pragma once
/// \file
/// Rules compute a result for each element of a segment from the element, one neighbour, and a fold of the segment's
/// first elements or of the whole segment. A rule is written once; kernels/segments.hpp passes its fold to all elements
/// through lanes or scratch.
///
/// A rule is a type usable on the device with
///   using Element, Folded;
///   static constexpr int reach;             // 0: no fold; 4, 8 ..: folds the first `reach` elements of a segment, a
///                                           // power of two up to 16; longest_segment: folds the whole segment
///   static constexpr Neighbour neighbour;   // the other element that the rule uses
///   Folded nothing() const;                 // combine(nothing(), f) must be bitwise equal to f
///   Folded lift(Element x) const;
///   Folded combine(Folded a, Folded b) const;   // associative; also commutative if it folds whole segments
///   Settled settle(Folded f) const;             // what finish needs of the fold; computed once for several results
///   Element alone(Element x) const;             // replaces a neighbour that does not exist
///   Element finish(Element x, Element neighbour, Settled settled, bool odd) const;
///                                               // odd: whether the position in the segment is odd
/// finish is also called for places behind the array's end, where folds are nothing(): it must not trap or overflow.
///
/// A fold of the first `reach` elements is a tree: 0 with 1, 2 with 3, then these two results, and so on. All variants
/// use this order and give bitwise equal results.
///
/// Example, sum of the first 4 added to each, segments of 5: 1 2 3 4 5 | 6 7 -> 11 12 13 14 15 | 19 20.

#include <Kokkos_Macros.hpp>

#include <concepts>
#include <cstdint>

namespace tessera::collective {

/// The maximum length of a segment, unless the whole array is one segment.
inline constexpr int longest_segment = 1024;

/// The other element that a rule uses: none, the next one, or the element at position xor 1.
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

/// Base class of rules without a fold.
template <class T>
struct FoldsNothing {
  struct Folded {};
  static constexpr int reach = 0;

  [[nodiscard]] KOKKOS_FUNCTION Folded nothing() const { return {}; }
  [[nodiscard]] KOKKOS_FUNCTION Folded lift(T) const { return {}; }
  [[nodiscard]] KOKKOS_FUNCTION Folded combine(Folded, Folded) const { return {}; }
  [[nodiscard]] KOKKOS_FUNCTION Folded settle(Folded) const { return {}; }
};

namespace detail {

// Folds neighbours first, then pairs, and so on.
template <int Count, class Rule, class Folded>
[[nodiscard]] KOKKOS_FUNCTION Folded fold_tree(Rule const& rule, Folded const* of) {
  if constexpr (Count == 1) {
    return of[0];
  } else {
    return rule.combine(fold_tree<Count / 2>(rule, of), fold_tree<Count / 2>(rule, of + Count / 2));
  }
}

// Repeatedly folds the second half onto the first. The loops have constant length, so that each becomes vector
// instructions. The last four elements are folded without shrinking further: loops over two elements and over one
// become unpredictable branches, which dominate the time of short segments.
template <int Count, class Rule, class Folded>
KOKKOS_FUNCTION void fold_halves(Rule const& rule, Folded* of) {
  static_assert(Count >= 4);
  if constexpr (Count > 4) {
    for (int e = 0; e < Count / 2; ++e) of[e] = rule.combine(of[e], of[e + Count / 2]);
    fold_halves<Count / 2>(rule, of);
  } else {
    Folded const two_away[4] = {of[2], of[3], of[0], of[1]};
    for (int e = 0; e < 4; ++e) of[e] = rule.combine(of[e], two_away[e]);
    Folded const next[4] = {of[1], of[0], of[3], of[2]};
    for (int e = 0; e < 4; ++e) of[e] = rule.combine(of[e], next[e]);
  }
}

// Folds `count` elements (a multiple of Wide, not 0) in Wide chains. Only the outer loop has a length known at run
// time, so that a short segment's chains stay in a host's registers.
template <int Wide, class Rule>
[[nodiscard]] KOKKOS_FUNCTION typename Rule::Folded fold_wholes(Rule const& rule, typename Rule::Element const* segment,
                                                                int count) {
  typename Rule::Folded of[Wide];
  for (int e = 0; e < Wide; ++e) of[e] = rule.lift(segment[e]);
  for (int i = Wide; i < count; i += Wide) {
    for (int e = 0; e < Wide; ++e) of[e] = rule.combine(of[e], rule.lift(segment[i + e]));
  }
  fold_halves<Wide>(rule, of);
  return of[0];
}

}  // namespace detail

/// Returns the fold of the first `reach` of `count` elements, or of all elements if there are fewer.
///
/// May be called by any lane. No scratch, no barriers.
template <SegmentRule Rule>
[[nodiscard]] KOKKOS_FUNCTION typename Rule::Folded fold_head(Rule const& rule, typename Rule::Element const* segment,
                                                              int count) {
  static_assert(Rule::reach >= 1 && Rule::reach <= 16, "Tessera: a segment's head has 1 to 16 elements");
  typename Rule::Folded of[Rule::reach];
  for (int i = 0; i < Rule::reach; ++i) of[i] = i < count ? rule.lift(segment[i]) : rule.nothing();
  return detail::fold_tree<Rule::reach>(rule, of);
}

/// Returns the fold of `count` >= 1 elements by a commutative rule, in several chains side by side, which a host's
/// compiler vectorises. A rule that consists of several folds may provide a member `of_run`, which computes them one
/// after the other.
///
/// May be called by any lane. No scratch, no barriers.
template <SegmentRule Rule>
[[nodiscard]] KOKKOS_FUNCTION typename Rule::Folded fold_run(Rule const& rule, typename Rule::Element const* segment,
                                                             int count) {
  if constexpr (requires { rule.of_run(segment, count); }) {
    return rule.of_run(segment, count);
  } else {
    constexpr int wide = 32;
    if (count % wide == 0) return detail::fold_wholes<wide>(rule, segment, count);
    typename Rule::Folded of[wide];
    for (int e = 0; e < wide; ++e) of[e] = rule.nothing();
    int i = 0;
    for (; i + wide <= count; i += wide) {
      for (int e = 0; e < wide; ++e) of[e] = rule.combine(of[e], rule.lift(segment[i + e]));
    }
    int const left = count - i;
    for (int e = 0; e < left; ++e) of[e] = rule.combine(of[e], rule.lift(segment[i + e]));
    detail::fold_halves<wide>(rule, of);
    return of[0];
  }
}

/// Writes the rule's results for a run of a segment to out[0 .. count). The run begins at an even position of its
/// segment. `has_next`: the segment and the array continue after the run. `out` must not alias `segment`.
///
/// May be called by any lane. No scratch, no barriers.
template <SegmentRule Rule, class Settled>
KOKKOS_FUNCTION void finish_run(Rule const& rule, typename Rule::Element const* segment, int count, bool has_next,
                                Settled const& settled, typename Rule::Element* KOKKOS_RESTRICT out) {
  using T = typename Rule::Element;
  if (count <= 0) return;
  int const last = count - 1;
  if constexpr (Rule::neighbour == Neighbour::none) {
    for (int i = 0; i < last; ++i) out[i] = rule.finish(segment[i], segment[i], settled, (i & 1) != 0);
  } else if constexpr (Rule::neighbour == Neighbour::next) {
    for (int i = 0; i < last; ++i) out[i] = rule.finish(segment[i], segment[i + 1], settled, (i & 1) != 0);
  } else {
    // Takes elements in pairs that begin at even positions.
    for (int i = 0; i < last; i += 2) {
      T const even = segment[i];
      T const odd = segment[i + 1];
      out[i] = rule.finish(even, odd, settled, false);
      out[i + 1] = rule.finish(odd, even, settled, true);
    }
    if ((count & 1) == 0) return;
  }
  T const own = segment[last];
  out[last] = rule.finish(own, has_next ? segment[count] : rule.alone(own), settled, (last & 1) != 0);
}

}  // namespace tessera::collective
