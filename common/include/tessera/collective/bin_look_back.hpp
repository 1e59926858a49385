#pragma once
/// \file
/// Decoupled look-back with one count per bin: each tile of a pass learns, for each bin, how many items of the bin are
/// in all earlier tiles. look_back.hpp explains the protocol, the tickets and progress.
/// Source: Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs (arXiv:2206.01784).
///
/// A bin of a tile is one word of 32 bits: the number of the launch (its epoch), the state, and the count. All
/// data are in this word, so no fence is needed. Words are cleared only when the epochs are used up.
/// One lane looks back for each bin: neighbouring lanes read neighbouring words.
///
/// Example, 2 bins, tiles' counts 3 1 | 2 2 | 0 4: tile 2 reads tile 1, partial 2 and inclusive 3. Bin 0 also reads
/// tile 0, inclusive 3. Tile 2 publishes inclusive 5 + 0 and 3 + 4.

#include <Kokkos_Core.hpp>

#include <cstdint>

#include <tessera/collective/look_back.hpp>
#include <tessera/collective/shared_word.hpp>
#include <tessera/core/unroll.hpp>

namespace tessera::collective {

/// The part of a BinLookBackWorkspace that kernels use. It is copied into the kernel.
struct BinLookBackHandle {
  std::uint32_t* words;  ///< [tiles][bins]
  std::uint32_t* counter;
  std::uint32_t first_ticket;
  std::uint32_t epoch;
  int bins;
  int count_bits;  ///< counts are below 2^count_bits

  /// Returns the next tile's number. Must be called by one lane of one thread of the team.
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t next_tile() const {
    return Kokkos::atomic_fetch_add(counter, 1U) - first_ticket;  // right also after the counter has wrapped around
  }

  /// Publishes the count of one bin of a tile. Must be called by one lane.
  KOKKOS_FUNCTION void publish(std::uint32_t tile, int bin, TileState state, std::uint32_t count) const {
    store_word(word_of(tile, bin), (tag(state) << count_bits) | count);
  }

  /// Returns the number of items of `bin` in all tiles before `tile`. May be called by any lane; waits until these
  /// tiles have published. No scratch, no barriers.
  /// \tparam Words predecessors that are read at the same time. The latency of a read decides how many predecessors a
  ///         tile visits: all tiles that started meanwhile have published only their partial counts.
  template <int Words = 1>
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t before(std::uint32_t tile, int bin) const {
    std::uint32_t const mask = (std::uint32_t{1} << count_bits) - 1;
    std::uint32_t sum = 0;
    while (tile > 0) {
      std::uint32_t words[Words];
      TESSERA_UNROLL
      for (std::uint32_t k = 0; k < Words; ++k) {
        // Before the first tile there is nothing.
        words[k] = k < tile ? load_word(word_of(tile - 1 - k, bin)) : tag(TileState::inclusive) << count_bits;
      }
      bool is_known = true;  // all words so far: the sum goes on with the next one
      TESSERA_UNROLL
      for (std::uint32_t k = 0; k < Words; ++k) {
        std::uint32_t const found = words[k] >> count_bits;
        if (is_known && found == tag(TileState::inclusive)) return sum + (words[k] & mask);
        is_known = is_known && found == tag(TileState::partial);
        if (is_known) {
          sum += words[k] & mask;
          --tile;
        }
      }
      if (!is_known) back_off(0);
    }
    return sum;
  }

 private:
  // 32 bits: a launch has fewer than 2^32 words.
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t* word_of(std::uint32_t tile, int bin) const {
    return words + (tile * static_cast<std::uint32_t>(bins) + static_cast<std::uint32_t>(bin));
  }
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t tag(TileState state) const {
    return (epoch << 2) | static_cast<std::uint32_t>(state);
  }
};

}  // namespace tessera::collective
