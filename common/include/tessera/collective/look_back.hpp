#pragma once
/// \file
/// Decoupled look-back: a single-pass scan in which each tile obtains the total of all earlier tiles.
/// Source: Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back (NVIDIA NVR-2016-002).
///
/// Each tile publishes its own total (partial). When it knows the total of all earlier tiles, it publishes the total of
/// everything up to its end (inclusive). A tile looks back over its predecessors, W at a time, until it finds an
/// inclusive one.
///
/// Progress: a tile's number is a ticket drawn from a counter. A team therefore waits only for teams that have already
/// started, in any order in which the hardware starts them.
///
/// Launches: nothing is reset between launches. Every word carries the number of the launch (its epoch), so values of
/// an earlier launch read as absent. Tickets continue counting.
///
/// Visibility: a value that fits shares one word with epoch and state, and the word is read and written in one access.
/// Values of up to 4 bytes use words of 8 bytes; on CUDA, values of up to 8 bytes use words of 16 bytes. Wider values
/// are stored in separate arrays. The writer stores value, fence, word; the reader loads word, fence, value. Partial
/// and inclusive values have separate places, so that no value is overwritten while it is read.
///
/// Back-off: a tile that looks back immediately finds few inclusive values and visits many partial ones. Hundreds of
/// teams then read the same few cache lines, which delays all accesses to data behind these lines. If a GPU has more
/// tiles than resident teams, a tile first waits a while (see decision page 7).
///
/// Example, tiles' totals 3 7 2 5: tile 3 reads tile 2 (partial 2) and tile 1 (inclusive 10). Their total is 10 + 2 =
/// 12, and tile 3 publishes inclusive 17.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/shared_word.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::collective {

enum class TileState : std::uint32_t { absent = 0, partial = 1, inclusive = 2 };

/// The state and value that another tile has published so far.
template <class V>
struct TileReport {
  TileState state;
  V value;
};

/// The word that is published for a tile: epoch and state, and the value if it fits.
template <ExecutionSpace Exec, class V>
using LookBackWord =
    std::conditional_t<has_word_pairs<Exec> && (sizeof(V) > 4 && sizeof(V) <= 8), WordPair, std::uint64_t>;

/// The part of LookBack that kernels use: pointers and the numbers of this launch. It is copied into the kernel.
template <class V, class Word = std::uint64_t>
struct LookBackHandle {
  static constexpr bool packed = sizeof(V) <= sizeof(Word) / 2;
  static_assert(std::is_trivially_copyable_v<V>, "Tessera: values of a look-back are copied byte by byte");

  Word* words;
  V* partial_values;    ///< unused if a value fits into its tile's word
  V* inclusive_values;  ///< the same
  std::uint32_t* counter;
  std::uint32_t first_ticket;
  std::uint32_t epoch;
  unsigned patience = 0;  ///< back-off before the first look, in nanoseconds

  /// Returns the next tile's number. Must be called by one lane of one thread of the team.
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t next_tile() const {
    // Unsigned, so that the difference is also right after the counter has wrapped around.
    return Kokkos::atomic_fetch_add(counter, 1u) - first_ticket;
  }

  /// Publishes a tile's value. Must be called by one lane of one thread of the team.
  KOKKOS_FUNCTION void publish(std::size_t tile, TileState state, V const& value) const {
    if constexpr (packed) {
      Half bits = 0;
      memcpy(&bits, &value, sizeof(V));
      if constexpr (std::is_same_v<Word, WordPair>) {
        store_word(&words[tile], {.first = tag(state), .second = bits});
      } else {
        store_word(&words[tile], (Word{tag(state)} << 32) | bits);
      }
    } else {
      (state == TileState::partial ? partial_values : inclusive_values)[tile] = value;
      // A team that sees the word must see the value. Tests cannot reliably detect a missing fence: on the tested
      // machines stores of one lane arrive in order.
      Kokkos::memory_fence();
      store_word(&words[tile], Word{tag(state)} << 32);
    }
  }

  /// Returns what a tile has published so far in this launch. May be called by any lane.
  [[nodiscard]] KOKKOS_FUNCTION TileReport<V> poll(std::size_t tile) const {
    Word const word = load_word(&words[tile]);
    std::uint32_t found = 0;
    Half bits = 0;
    if constexpr (std::is_same_v<Word, WordPair>) {
      found = static_cast<std::uint32_t>(word.first);
      bits = word.second;
    } else {
      found = static_cast<std::uint32_t>(word >> 32);
      bits = static_cast<Half>(word);
    }
    TileReport<V> report{};
    if (found == tag(TileState::partial)) report.state = TileState::partial;
    if (found == tag(TileState::inclusive)) report.state = TileState::inclusive;
    if constexpr (packed) {
      memcpy(&report.value, &bits, sizeof(V));
    } else if (report.state != TileState::absent) {
      Kokkos::memory_fence();  // the value must not be read before the word; as above
      report.value = (report.state == TileState::partial ? partial_values : inclusive_values)[tile];
    }
    return report;
  }

  /// Returns the combination of all values before `tile` (> 0). Must be called by all lanes of one thread of the team,
  /// after the team has published its partial value. No scratch, no barriers. Operator: associative with identity; the
  /// order is kept.
  template <lane::Lanes L, class Op>
  [[nodiscard]] KOKKOS_FUNCTION V before(L const& lanes, std::size_t tile, Op const& op) const {
    V prefix = op.identity();
    KOKKOS_IF_ON_DEVICE((back_off(patience);))
    for (auto latest = static_cast<std::int64_t>(tile) - 1;; latest -= L::width) {
      // Lane 0 reads the latest predecessor, lane 1 the one before it, and so on. Lanes before the first tile get the
      // identity.
      auto reports = lanes.template fill<TileReport<V>>({TileState::absent, op.identity()});
      std::uint64_t absent = 0;
      std::uint64_t inclusive = 0;
      for (bool first_look = true;; first_look = false) {
        if (!first_look) back_off(patience / 8);
        auto is_absent = lanes.template fill<bool>(false);
        auto is_inclusive = lanes.template fill<bool>(false);
        lanes.each(
            [&](int lane, TileReport<V>& report, bool& lacks, bool& ends) {
              if (report.state == TileState::absent) {
                report = latest >= lane ? poll(static_cast<std::size_t>(latest - lane))
                                        : TileReport<V>{TileState::inclusive, op.identity()};
              }
              lacks = report.state == TileState::absent;
              ends = report.state == TileState::inclusive;
            },
            reports, is_absent, is_inclusive);
        absent = lanes.ballot(is_absent);
        inclusive = lanes.ballot(is_inclusive);
        // Stop when no tile is absent between this one and the nearest inclusive one, that is, below its bit.
        if (absent == 0 || (inclusive != 0 && lowest(inclusive) < lowest(absent))) break;
      }

      int const last = inclusive != 0 ? lowest(inclusive) : L::width - 1;
      auto values = lanes.template fill<V>(op.identity());
      lanes.each(
          [&](int lane, V& value, TileReport<V> const& report) {
            if (lane <= last) value = report.value;
          },
          values, reports);
      auto const reversed = [&](V const& a, V const& b) { return op(b, a); };  // lane 0 has the latest value
      prefix = op(thread::reduce<V>(lanes, values, reversed), prefix);
      if (inclusive != 0) return prefix;
    }
  }

 private:
  using Half = std::conditional_t<std::is_same_v<Word, WordPair>, std::uint64_t, std::uint32_t>;  // fits a value

  // Kokkos' constexpr countr_zero is a loop on GPUs, so the builtin is used.
  [[nodiscard]] KOKKOS_FUNCTION static int lowest(std::uint64_t bits) {
    return Kokkos::Experimental::countr_zero_builtin(bits);
  }
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t tag(TileState state) const {
    return (epoch << 2) | static_cast<std::uint32_t>(state);
  }
};

}  // namespace tessera::collective
