#pragma once
/// \file
/// A tile in scratch from which lanes read runs of packs without bank conflicts.
///
/// Lanes that hold L consecutive outputs start L elements apart: with packs in their natural order, concurrent accesses
/// would hit the same banks. The tile is therefore stored as planes: plane q holds pack q of every run, one run after
/// the other, and neighbouring lanes read neighbouring packs. From any run, the pack that a lane reads next is always
/// the same distance away.
///
/// Example, packs of 2, L = 4, elements 0 .. 11: plane 0 is 0 1 | 4 5 | 8 9, plane 1 is 2 3 | 6 7 | 10 11.

#include <Kokkos_Core.hpp>

#include <tessera/collective/pack.hpp>

namespace tessera::team {

template <class T, int L>
struct RunTile {
  static constexpr int pack = collective::pack_width<T>;
  static constexpr int planes = L / pack;
  static_assert(L % pack == 0, "Tessera: a run is whole packs");
  using Pack = collective::Pack<T, pack>;

  Pack* packs;
  int plane;  // number of packs in a plane

  /// Returns the number of packs of a plane for `elements` elements: four more than a multiple of eight, so that planes
  /// begin in different banks. Consecutive packs are written to different planes.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static constexpr int plane_for(int elements) {
    int const runs = (elements + L - 1) / L;
    return (runs + 3) / 8 * 8 + 4;
  }
  /// Returns the number of packs of scratch that the tile needs.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION static constexpr int places(int elements) {
    return planes * plane_for(elements);
  }
  /// Returns pack p of the array in the tile. Unsigned, so that the divisions are shifts.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION Pack& at_pack(unsigned p) const {
    constexpr unsigned count = planes;
    return packs[(p % count) * static_cast<unsigned>(plane) + p / count];
  }

  /// Loads data[0 .. count), followed by zeros to the end of the last pack. `left`: number of elements that exist in
  /// `data`.
  ///
  /// Must be called by all threads of the team. Barriers: none; the caller needs one before the tile is read, and one
  /// before it is loaded again.
  template <class Member>
  KOKKOS_FUNCTION void load(Member const& team, T const* data, int count, int left) const {
    bool const aligned = collective::is_aligned_for_packs<pack>(data);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (count + pack - 1) / pack), [&](int p) {
      int const i = p * pack;
      Pack values;
      if (aligned && i + pack <= left) {
        values = collective::pack_at<pack>(data + i);
      } else {
        for (int e = 0; e < pack; ++e) values[e] = i + e < left ? data[i + e] : T(0);
      }
      at_pack(static_cast<unsigned>(p)) = values;
    });
  }

  /// Stores the first `count` elements to data[0 ..). Calls and barriers: as for load.
  template <class Member>
  KOKKOS_FUNCTION void store(Member const& team, T* data, int count) const {
    bool const aligned = collective::is_aligned_for_packs<pack>(data);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (count + pack - 1) / pack), [&](int p) {
      int const i = p * pack;
      Pack const values = at_pack(static_cast<unsigned>(p));
      if (aligned && i + pack <= count) {
        collective::pack_at<pack>(data + i) = values;
      } else {
        for (int e = 0; e < pack; ++e) {
          if (i + e < count) data[i + e] = values[e];
        }
      }
    });
  }

  /// The tile from one of its runs on, as a source for thread::correlate. Places past the tile's elements may be read,
  /// because they are scratch, but are not used.
  struct Run {
    Pack* packs;  // the run's pack in plane 0
    int plane;

    [[nodiscard]] KOKKOS_INLINE_FUNCTION T at(int i) const {
      auto const element = static_cast<unsigned>(i);
      return packs[element / pack % planes * static_cast<unsigned>(plane) + element / L]
                  [static_cast<int>(element % pack)];
    }
    template <int N>
    KOKKOS_INLINE_FUNCTION void read_whole(int i, T* to) const {
      static_assert(N == L, "Tessera: run by run");
      for (int q = 0; q < planes; ++q) {
        Pack const values = packs[q * plane + i / L];
        for (int e = 0; e < pack; ++e) to[q * pack + e] = values[e];
      }
    }
    template <int N>
    KOKKOS_INLINE_FUNCTION void read(int i, T* to) const {
      read_whole<N>(i, to);
    }
    KOKKOS_INLINE_FUNCTION void write(T const* from) const {
      for (int q = 0; q < planes; ++q) {
        Pack values;
        for (int e = 0; e < pack; ++e) values[e] = from[q * pack + e];
        packs[q * plane] = values;
      }
    }
  };
  [[nodiscard]] KOKKOS_INLINE_FUNCTION Run run(int r) const { return {packs + r, plane}; }
};

}  // namespace tessera::team
