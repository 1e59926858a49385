#pragma once
/// \file
/// Folds and finishes segments in the registers of one thread's lanes, by exchanges, without memory.
///
/// The thread holds Rows (thread/rows.hpp). A segment takes `places()` places in them, a power of two, and begins at a
/// multiple of that number. It lies within a pack, over several lanes, or over several rows. Places without an element
/// take part in every exchange, with a neutral value. Every function recomputes the places of a lane (core/hidden.hpp
/// explains why).
///
/// Must be called by all lanes of one thread, with the same part. No scratch, no barriers.
///
/// Example, 4 lanes, packs of 2, 1 row, segments of 3 (4 places each), maximum: 1 5 2 . | 7 3 4 . -> lanes hold
/// (1 5) (2 .) (7 3) (4 .); packs 5 2 7 4; exchange by mask 1: 5 5 7 7.

#include <Kokkos_Macros.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/segment_rule.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/hidden.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::thread {

/// The layout of segments in a thread's places, and the number of elements.
struct SegmentPlaces {
  int places_log2;  ///< a segment has 2^places_log2 places
  int length;       ///< elements of a segment, at most places(); places() + 1 if it continues after the thread's part
  int count;        ///< number of elements in the part
  int available;    ///< elements from the part's first to the array's end, at most one more than a part can hold
  bool dense;       ///< every place of a full part has an element, so that the part can be accessed in packs
  bool whole;       ///< dense, and no element is missing

  [[nodiscard]] KOKKOS_FUNCTION int places() const { return 1 << places_log2; }
  [[nodiscard]] KOKKOS_FUNCTION int position(int place) const { return place & (places() - 1); }
  /// Returns the index in the part of the element at `place`, which must have one.
  [[nodiscard]] KOKKOS_FUNCTION int offset(int place) const {
    return dense ? place : (place >> places_log2) * length + position(place);
  }
  [[nodiscard]] KOKKOS_FUNCTION bool has(int place) const { return position(place) < length && offset(place) < count; }
  /// Returns true if the element at `place` is followed by another element of its segment.
  [[nodiscard]] KOKKOS_FUNCTION bool has_next(int place) const {
    return position(place) + 1 < length && offset(place) + 1 < available;
  }
};

/// Loads the part's elements into their places; all other places become T(0).
template <lane::Lanes L, class Values, class T>
KOKKOS_FUNCTION void load_segments(L const& lanes, T const* in, SegmentPlaces const& part, Values& values) {
  if (part.dense) {
    load_rows(lanes, in, part.count, T(0), values);
    return;
  }
  lanes.each(
      [&](int rank, auto& rows) {
        for_each_in_rows<L::width>(hidden_on_hip(rank), rows,
                                   [&](int place, T& x) { x = part.has(place) ? in[part.offset(place)] : T(0); });
      },
      values);
}

/// Stores only the places that have an element.
template <lane::Lanes L, class Values, class T>
KOKKOS_FUNCTION void store_segments(L const& lanes, T* out, SegmentPlaces const& part, Values const& values) {
  if (part.dense) {
    store_rows(lanes, out, part.count, values);
    return;
  }
  lanes.each(
      [&](int rank, auto const& rows) {
        for_each_in_rows<L::width>(hidden_on_hip(rank), rows, [&](int place, T const& x) {
          if (part.has(place)) out[part.offset(place)] = x;
        });
      },
      values);
}

/// The folds of the segments that contain a lane's packs, one per row.
template <class Rule, int RowCount>
struct RowFolds {
  typename Rule::Folded at[RowCount];
};

namespace detail {

// A loop over masks, written as recursion, so that rows are indexed by constants and stay in registers.
template <int Mask, int RowCount, class Rule>
KOKKOS_FUNCTION void fold_rows(Rule const& rule, int rows_per_segment, RowFolds<Rule, RowCount>& folds) {
  if constexpr (Mask < RowCount) {
    if (Mask < rows_per_segment) {
      for (int row = 0; row < RowCount; ++row) {
        if ((row & Mask) == 0) folds.at[row] = rule.combine(folds.at[row], folds.at[row ^ Mask]);
      }
    }
    fold_rows<2 * Mask>(rule, rows_per_segment, folds);
  }
}
template <int Mask, int RowCount, class Rule>
KOKKOS_FUNCTION void spread_rows(int rows_per_segment, RowFolds<Rule, RowCount>& folds) {
  if constexpr (Mask < RowCount) {
    if (Mask < rows_per_segment) {
      for (int row = 0; row < RowCount; ++row) {
        if ((row & Mask) != 0) folds.at[row] = folds.at[row ^ Mask];
      }
    }
    spread_rows<2 * Mask, RowCount, Rule>(rows_per_segment, folds);
  }
}

// Replaces the lanes' folds of one row by move(fold).
template <class Rule, int RowCount, lane::Lanes L, class Move>
KOKKOS_FUNCTION void move_row(L const& lanes, typename L::template Value<RowFolds<Rule, RowCount>>& folds, int row,
                              Rule const& rule, Move const& move) {
  using Folded = typename Rule::Folded;
  auto one = lanes.template fill<Folded>(rule.nothing());
  lanes.each([&](int, Folded& of_row, RowFolds<Rule, RowCount> const& own) { of_row = own.at[row]; }, one, folds);
  move(one);
  lanes.each([&](int, Folded const& of_row, RowFolds<Rule, RowCount>& own) { own.at[row] = of_row; }, one, folds);
}

// The fold of an element's segment if a pack holds several segments.
template <class Rule, class Pack, int N>
[[nodiscard]] KOKKOS_FUNCTION typename Rule::Folded fold_in_pack(Rule const& rule, SegmentPlaces const& part,
                                                                 Pack const& pack, int place, int e) {
  static_assert(N <= 4, "Tessera: a pack has at most 4 elements");
  typename Rule::Folded const own = rule.lift(pack[e]);
  if (part.places_log2 == 0) return own;
  int const other = e ^ 1;
  if (!part.whole && !part.has(place - e + other)) return own;
  return (e & 1) != 0 ? rule.combine(rule.lift(pack[other]), own) : rule.combine(own, rule.lift(pack[other]));
}

}  // namespace detail

/// Returns, for each of a lane's packs, the fold of its segment. If a pack holds several segments, the result is
/// meaningless and finish_segments computes its own. A rule that folds whole segments must commute, because rows are
/// folded before lanes.
///
/// \tparam Plain the part is whole and no pack holds several segments: few tests per element
template <class Items, bool Plain, lane::Lanes L, collective::SegmentRule Rule>
[[nodiscard]] KOKKOS_FUNCTION typename L::template Value<RowFolds<Rule, Items::rows>> fold_segments(
    L const& lanes, Rule const& rule, SegmentPlaces const& part, typename L::template Value<Items> const& values) {
  using Folded = typename Rule::Folded;
  using Folds = RowFolds<Rule, Items::rows>;
  constexpr int rows = Items::rows;
  constexpr int pack = Items::pack;
  static_assert(Rule::reach >= pack, "Tessera: a fold is of a pack at least");
  auto folds = lanes.template fill<Folds>(Folds{});
  lanes.each(
      [&](int rank, Folds& own, Items const& items) {
        int const lane = hidden_on_hip(rank);
        for (int row = 0; row < rows; ++row) {
          Folded of[pack];
          for (int e = 0; e < pack; ++e) {
            bool const is_there = Plain || part.has(row_offset<L::width, pack>(row, lane, e));
            of[e] = is_there ? rule.lift(items.at[row][e]) : rule.nothing();
          }
          own.at[row] = collective::detail::fold_tree<pack>(rule, of);
        }
      },
      folds, values);

  constexpr int row_places = L::width * pack;
  int const rows_per_segment = part.places() > row_places ? part.places() / row_places : 1;
  if constexpr (Rule::reach > row_places) {
    lanes.each([&](int, Folds& own) { detail::fold_rows<1>(rule, rows_per_segment, own); }, folds);
  }
  // From here on only a segment's first row matters.
  int const reach = part.places() < Rule::reach ? part.places() : Rule::reach;
  for (int mask = 1; mask < L::width && mask * pack < reach; mask *= 2) {
    TESSERA_UNROLL
    for (int row = 0; row < rows; ++row) {  // unrolled: registers can only be indexed by constants
      if ((row & (rows_per_segment - 1)) != 0) continue;
      detail::move_row<Rule, rows>(lanes, folds, row, rule, [&](auto& one) {
        auto const partner = lanes.exchange(one, mask);
        lanes.each(
            [&](int lane, Folded& own, Folded const& other) {
              own = (lane & mask) != 0 ? rule.combine(other, own) : rule.combine(own, other);
            },
            one, partner);
      });
    }
  }
  if constexpr (!collective::folds_whole_segments<Rule>) {
    // Only the lanes that hold the segment's head have the fold: pass it to the others.
    int const group = part.places() >= row_places ? L::width : part.places() / pack;
    if (group > 1) {
      TESSERA_UNROLL
      for (int row = 0; row < rows; ++row) {
        detail::move_row<Rule, rows>(lanes, folds, row, rule, [&](auto& one) { one = lanes.first_of(one, group); });
      }
    }
  }
  lanes.each([&](int, Folds& own) { detail::spread_rows<1, rows, Rule>(rows_per_segment, own); }, folds);
  return folds;
}

/// Replaces each element by the rule's result. `folds` is the result of fold_segments, or one fold for all if the array
/// is one segment. `behind` is the element after the part if part.available says that it exists. `Plain` as for
/// fold_segments. A partner is another element of the lane's pack, or of the neighbouring lane if a pack is one
/// element.
template <class Items, bool Plain, lane::Lanes L, collective::SegmentRule Rule>
KOKKOS_FUNCTION void finish_segments(L const& lanes, Rule const& rule, SegmentPlaces const& part,
                                     typename L::template Value<RowFolds<Rule, Items::rows>> const& folds,
                                     typename Rule::Element behind, typename L::template Value<Items>& values) {
  using T = typename Rule::Element;
  using collective::Neighbour;
  constexpr int rows = Items::rows;
  constexpr int pack = Items::pack;
  bool const wide = Plain || part.places() >= pack;  // a pack lies in one segment
  auto const first_of_row = [&](int row) {
    auto first = lanes.template fill<T>(T(0));
    lanes.each([&](int, T& x, Items const& items) { x = items.at[row][0]; }, first, values);
    return first;
  };
  TESSERA_UNROLL
  for (int row = 0; row < rows; ++row) {  // in this order, since a row needs the next one unchanged
    auto next_lane = lanes.template fill<T>(T(0));
    T next_row = behind;
    auto partner = lanes.template fill<T>(T(0));
    if constexpr (Rule::neighbour == Neighbour::partner && pack == 1) partner = lanes.exchange(first_of_row(row), 1);
    if constexpr (Rule::neighbour == Neighbour::next) {
      next_lane = lanes.shift_down(first_of_row(row), 1);
      if (row + 1 < rows) next_row = lanes.template read<T>(first_of_row(row + 1), 0);
    }
    lanes.each(
        [&](int rank, Items& items, RowFolds<Rule, rows> const& own_folds, T const& of_next_lane, T const& of_partner) {
          int const lane = hidden_on_hip(rank);
          auto const own = items.at[row];
          auto const settled = rule.settle(own_folds.at[row]);
          for (int e = 0; e < pack; ++e) {
            int const place = row_offset<L::width, pack>(row, lane, e);
            T other = own[e];
            if constexpr (Rule::neighbour == Neighbour::next) {
              other = e + 1 < pack ? own[(e + 1) % pack] : (lane + 1 < L::width ? of_next_lane : next_row);
              bool const within = Plain && e + 1 < pack;
              if (!within && !part.has_next(place)) other = rule.alone(own[e]);
            }
            if constexpr (Rule::neighbour == Neighbour::partner) {
              if constexpr (pack > 1) {
                other = own[e ^ 1];
              } else {
                other = of_partner;
              }
              bool const is_later = (part.position(place) & 1) != 0;
              bool const all_paired = Plain && (pack > 1 || part.places() > 1);
              if (!all_paired && !is_later && !part.has_next(place)) other = rule.alone(own[e]);
            }
            auto of_segment = settled;
            if constexpr (collective::folds<Rule>) {
              if (!wide)
                of_segment = rule.settle(detail::fold_in_pack<Rule, decltype(own), pack>(rule, part, own, place, e));
            }
            bool const odd = (pack > 1 && wide ? e & 1 : part.position(place) & 1) != 0;
            items.at[row][e] = rule.finish(own[e], other, of_segment, odd);
          }
        },
        values, folds, next_lane, partner);
  }
}

}  // namespace tessera::thread
