#pragma once
/// \file
/// Stencils on an element and the next few elements of its segment, for packs and for a thread's rows of packs.
///
/// A stencil is a type with
///   static constexpr int reach;                          // number of elements after its own that it uses
///   T operator()(T const* window, int present) const;    // result for window[0]
/// The elements window[0 .. min(present, reach + 1)) are the element and the next ones of its segment. Further places
/// up to window[reach] may be read, but must not affect the result: they hold elements of other segments or no
/// elements. At a place past the array's end `present` may be any number below 1, and the result is not used.
///
/// Example, sum of up to three, segments of 3, W = 2, N = 2, 2 rows, elements 1 2 3 4 5 6 7 8: 6 5 3 15 11 6 15 8.

#include <Kokkos_Macros.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/segments.hpp>
#include <tessera/collective/thread/rows.hpp>

namespace tessera::thread {

/// Returns the stencil's results for window[0 .. N), which begins at `offset` in the part and is followed by `reach`
/// more elements.
///
/// May be called by any lane. No scratch, no barriers.
/// \param uncut part.is_uncut() holds for the whole part and its reach: nothing is masked
template <int N, class Stencil, class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION collective::Pack<T, N> stencil_on_pack(Stencil const& stencil,
                                                                                 T const* window,
                                                                                 collective::SegmentedPart const& part,
                                                                                 int offset, bool uncut) {
  collective::Pack<T, N> result;
  if (uncut) {
    for (int e = 0; e < N; ++e) result[e] = stencil(window + e, Stencil::reach + 1);
    return result;
  }
  int const length = static_cast<int>(part.length);
  int const count = part.count - offset;
  int left = part.left_at(offset);
  if (length >= N) {
    // At most one segment ends before the last element. The elements are independent of each other, so that the loop
    // vectorises.
    for (int e = 0; e < N; ++e) {
      int const of_segment = e < left ? left - e : left + length - e;
      result[e] = stencil(window + e, of_segment < count - e ? of_segment : count - e);
    }
  } else {
    for (int e = 0; e < N; ++e) {
      result[e] = stencil(window + e, left < count - e ? left : count - e);
      left = left > 1 ? left - 1 : length;
    }
  }
  return result;
}

namespace detail {

/// The first elements of a lane's pack, which the previous lane needs.
template <class T, int Count>
struct PackHead {
  static constexpr int count = Count;
  T at[Count];
};

template <class Items, class Head, lane::Lanes L>
[[nodiscard]] KOKKOS_FUNCTION typename L::template Value<Head> heads_of(L const& lanes,
                                                                        typename L::template Value<Items> const& values,
                                                                        int row) {
  auto heads = lanes.template fill<Head>(Head{});
  lanes.each(
      [&](int, Head& head, Items const& items) {
        for (int k = 0; k < Head::count; ++k) head.at[k] = items.at[row][k];
      },
      heads, values);
  return heads;
}

}  // namespace detail

/// Replaces each of a thread's elements by the stencil's result. `values` holds the elements from in[0] on, as loaded
/// by load_rows. Elements after a lane's pack come from the next lane, elements after a row's last lane from the next
/// row, and elements after the last row from memory.
///
/// Must be called by all lanes of one thread. No scratch, no barriers. Reads the elements of in[size .. size + reach)
/// that exist.
template <class Items, lane::Lanes L, class Stencil, class T>
KOKKOS_FUNCTION void stencil_on_rows(L const& lanes, Stencil const& stencil, T const* in,
                                     collective::SegmentedPart const& part, typename L::template Value<Items>& values) {
  constexpr int reach = Stencil::reach;
  constexpr int rows = Items::rows;
  constexpr int pack = Items::pack;
  constexpr int size = rows * L::width * pack;
  static_assert(reach <= pack, "Tessera: a stencil on rows reaches at most into the next pack");
  using Head = detail::PackHead<T, reach>;

  bool const uncut = part.is_uncut(size + reach);
  Head behind{};  // the elements after the part
  for (int k = 0; k < reach; ++k) {
    if (size + k < part.count) behind.at[k] = in[size + k];
  }
  for (int row = 0; row < rows; ++row) {  // in this order, since a row needs the next one unchanged
    auto const next_lane = lanes.shift_down(detail::heads_of<Items, Head>(lanes, values, row), 1);
    Head const next_row =
        row + 1 < rows ? lanes.template read<Head>(detail::heads_of<Items, Head>(lanes, values, row + 1), 0) : behind;
    lanes.each(
        [&](int lane, Items& items, Head const& of_next_lane) {
          T window[pack + reach];
          for (int e = 0; e < pack; ++e) window[e] = items.at[row][e];
          for (int k = 0; k < reach; ++k) window[pack + k] = lane + 1 < L::width ? of_next_lane.at[k] : next_row.at[k];
          items.at[row] = stencil_on_pack<pack>(stencil, window, part, row_offset<L::width, pack>(row, lane, 0), uncut);
        },
        values, next_lane);
  }
}

}  // namespace tessera::thread
