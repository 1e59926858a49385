#pragma once
/// \file
/// A tile of an array in team scratch, with its halo, for windows that reach past the tile's ends.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/team.hpp>

namespace tessera::team {

namespace detail {
// Calls body(i) once for each 0 <= i < n: by Kokkos' threads and vector lanes, or by the threads of another kind of
// team.
template <Team M, class Body>
KOKKOS_FUNCTION void for_each_of_team(M const& team, int n, Body const& body) {
  if constexpr (requires { Kokkos::TeamVectorRange(team, n); }) {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, n), body);
  } else {
    for (int i = team.team_rank(); i < n; i += team.team_size()) body(i);
  }
}
}  // namespace detail

/// The layout of a halo tile in scratch: `left` elements before the tile and `right` after it. The tile itself begins
/// on a 16-byte boundary if the scratch does.
template <class T>
struct HaloTile {
  int left = 0;
  int size = 0;  ///< number of elements of a whole tile
  int right = 0;

  static constexpr int pack = collective::pack_width<T>;

  /// Returns the place of the tile's first element in scratch.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int origin() const { return (left + pack - 1) / pack * pack; }
  /// Returns the number of elements of scratch that the tile needs.
  [[nodiscard]] KOKKOS_FUNCTION constexpr int places() const { return origin() + size + right; }

  /// Loads the tile that begins at `begin` of data[0 .. n) with its halo, and returns the place of element `begin`:
  /// result[-left .. size + right) is valid. Elements outside the array are not read and become `fill`. A tile may
  /// begin after the array's end, or before its beginning; `begin` is then the negative position, converted to
  /// unsigned.
  ///
  /// Must be called by all threads of the team. Scratch: `places()` elements, aligned to 16 bytes. Barriers: none; the
  /// caller needs one before the tile is read, and one before the scratch is loaded again.
  ///
  /// Example, left 2, size 4, right 1, n = 7: begin 4 -> a2 a3 | a4 a5 a6 fill | fill.
  template <Team Member>
  KOKKOS_FUNCTION T* load(Member const& team, T const* data, std::size_t n, std::size_t begin, T const& fill,
                          T* scratch) const {
    T* const tile = scratch + origin();
    using Pack = collective::Pack<T, pack>;
    auto const whole_size = static_cast<std::size_t>(size);
    // Not `begin + size <= n`, which also holds for a tile that begins before the array and ends in it.
    bool const whole = begin <= n && whole_size <= n - begin && size % pack == 0 &&
                       collective::is_aligned_for_packs<pack>(data + begin);
    if (whole) {
      auto const* const packs = reinterpret_cast<Pack const*>(data + begin);
      detail::for_each_of_team(team, size / pack, [&](int i) { reinterpret_cast<Pack*>(tile)[i] = packs[i]; });
    } else {
      detail::for_each_of_team(team, size, [&](int i) { tile[i] = begin + i < n ? data[begin + i] : fill; });
    }
    detail::for_each_of_team(team, left + right, [&](int i) {
      // A place before the array wraps around in unsigned arithmetic, and so counts as past its end.
      int const offset = i < left ? i - left : size + i - left;
      std::size_t const at = begin + static_cast<std::size_t>(static_cast<std::ptrdiff_t>(offset));
      tile[offset] = at < n ? data[at] : fill;
    });
    return tile;
  }
};

}  // namespace tessera::team
