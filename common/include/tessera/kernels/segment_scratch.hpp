#pragma once
/// \file
/// A segment rule (segment_rule.hpp) over a whole array through team scratch: a team loads a tile of whole segments,
/// folds each in scratch, and writes what the rule makes of its elements. One launch, 2n elements of traffic; barriers:
/// two a tile, and one more for every halving of a segment where all of it is folded.
///
/// Example, segments of 5, maximum: 3 1 4 1 5 -> 3 1 5 . . (the last two, onto the first two) -> 5 1 . . . -> 5.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

#include <tessera/collective/segment_rule.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/segment_lanes.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::kernels {

namespace detail {

/// How a tile is cut: pieces of `length` elements, which are the segments, or of one segment that is the whole array.
struct SegmentTile {
  int pieces = 1;
  int length = 1;
  bool one_segment = false;

  [[nodiscard]] KOKKOS_FUNCTION int size() const { return pieces * length; }
};

template <class Exec, class Rule>
struct SegmentScratchKernel {
  using T = typename Rule::Element;
  using Folded = typename Rule::Folded;
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  template <class U>
  using Scratch = Kokkos::View<U*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr bool folds_all = collective::folds_whole_segments<Rule>;

  Rule rule;
  T const* in;
  T* out;
  std::size_t n;
  SegmentTile tile;

  // A rule that folds all of a segment looks at no element but by its fold. Else the tile, and one behind it.
  [[nodiscard]] KOKKOS_FUNCTION static int value_count(SegmentTile const& tile) {
    return folds_all ? 0 : tile.size() + 1;
  }
  [[nodiscard]] KOKKOS_FUNCTION static int fold_count(SegmentTile const& tile) {
    if (!collective::folds<Rule>) return 0;
    return folds_all ? tile.size() : tile.pieces;
  }
  [[nodiscard]] static std::size_t scratch_bytes(SegmentTile const& tile) {
    return Scratch<T>::shmem_size(value_count(tile)) + Scratch<Folded>::shmem_size(fold_count(tile));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * static_cast<std::size_t>(tile.size());
    int const count = thread::count_before(begin, n, tile.size());
    int const available = thread::count_before(begin, n, tile.size() + 1);
    Scratch<T> const value_view(team.team_scratch(0), value_count(tile));
    Scratch<Folded> const fold_view(team.team_scratch(0), fold_count(tile));
    T* const values = value_view.data();
    Folded* const folds = fold_view.data();
    T const* const from = in + begin;

    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile.one_segment ? available : count), [&](int i) {
      if constexpr (folds_all) {
        folds[i] = rule.lift(from[i]);
      } else {
        values[i] = from[i];
      }
    });
    if constexpr (folds_all) {
      fold_by_halving(team, folds, count);
    } else if constexpr (collective::folds<Rule>) {
      fold_heads(team, values, folds, count);
    }
    team.team_barrier();

    finish(team, values, folds, count, available, out + begin);
    team.team_barrier();  // hosts go on with the next tile in the same scratch
  }

 private:
  // Calls body(piece, position) for the first `positions` of every piece.
  template <class Body>
  KOKKOS_FUNCTION void for_each_of_pieces(Member const& team, int positions, Body const& body) const {
    if constexpr (is_gpu<Exec>) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile.pieces * positions), [&](int i) {
        auto const piece = static_cast<int>(static_cast<unsigned>(i) / static_cast<unsigned>(positions));
        body(piece, i - piece * positions);
      });
    } else {
      for (int piece = team.team_rank(); piece < tile.pieces; piece += team.team_size()) {
        for (int position = 0; position < positions; ++position) body(piece, position);
      }
    }
  }

  // What finish wants to know of a piece's segment.
  [[nodiscard]] KOKKOS_FUNCTION auto settled_of(Folded const* folds, int piece) const {
    int const fold = folds_all ? piece * tile.length : (tile.one_segment ? 0 : piece);
    return rule.settle(collective::folds<Rule> ? folds[fold] : rule.nothing());
  }

  KOKKOS_FUNCTION void finish(Member const& team, T const* values, Folded const* folds, int count, int available,
                              T* to) const {
    if constexpr (is_gpu<Exec> || folds_all) {
      for_each_of_pieces(team, tile.length, [&](int piece, int position) {
        int const i = piece * tile.length + position;
        if (i >= count) return;
        T const own = folds_all ? T(0) : values[i];
        bool const has_next = (tile.one_segment || position + 1 < tile.length) && i + 1 < available;
        T other = own;
        if constexpr (Rule::neighbour == collective::Neighbour::next) {
          other = has_next ? values[i + 1] : rule.alone(own);
        }
        if constexpr (Rule::neighbour == collective::Neighbour::partner) {
          bool const is_later = (position & 1) != 0;
          other = is_later ? values[i - 1] : (has_next ? values[i + 1] : rule.alone(own));
        }
        to[i] = rule.finish(own, other, settled_of(folds, piece), (position & 1) != 0);
      });
    } else {
      for (int piece = team.team_rank(); piece < tile.pieces; piece += team.team_size()) {
        int const begin = piece * tile.length;
        int const end = begin + tile.length < count ? begin + tile.length : count;
        collective::finish_run(rule, values + begin, end - begin, tile.one_segment && end < available,
                               settled_of(folds, piece), to + begin);
      }
    }
  }

  KOKKOS_FUNCTION void fold_heads(Member const& team, T const* values, Folded* folds, int count) const {
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile.one_segment ? 1 : tile.pieces), [&](int piece) {
      if (tile.one_segment) {
        folds[0] = collective::fold_head(rule, in, thread::count_before(0, n, Rule::reach));
        return;
      }
      int const left = count - piece * tile.length;
      folds[piece] = collective::fold_head(rule, values + piece * tile.length, left < tile.length ? left : tile.length);
    });
  }

  // The second half of what is left of each segment onto the first.
  KOKKOS_FUNCTION void fold_by_halving(Member const& team, Folded* folds, int count) const {
    for (int length = tile.length; length > 1; length = (length + 1) / 2) {
      team.team_barrier();
      int const half = (length + 1) / 2;
      for_each_of_pieces(team, length - half, [&](int piece, int position) {
        int const i = piece * tile.length + position;
        if (i + half < count) folds[i] = rule.combine(folds[i], folds[i + half]);
      });
    }
  }
};

}  // namespace detail

/// out[i] = what the rule makes of in[i], for arrays of n elements that do not overlap. Constructed once (chooses; may
/// throw Skip), called many times; a call only enqueues. A rule that folds whole segments needs shape.segment > 0.
template <ExecutionSpace Exec, collective::SegmentRule Rule>
class SegmentScratch {
  using T = typename Rule::Element;
  using Kernel = detail::SegmentScratchKernel<Exec, Rule>;

 public:
  SegmentScratch(Exec const& exec, SegmentShape const& shape) : n_(shape.n), threads_(team_size(exec, shape.team)) {
    int const segment = segment_of<Rule>(shape);
    tile_.one_segment = segment == 0;
    tile_.length = segment == 0 ? 64 : segment;
    std::size_t const of_element = Kernel::folds_all         ? sizeof(typename Rule::Folded)
                                   : collective::folds<Rule> ? sizeof(T) + sizeof(typename Rule::Folded)
                                                             : sizeof(T);
    int const most = scratch_tile<Exec>(0, of_element, sizeof(T));
    if (most < tile_.length) {
      throw Skip("segments of " + std::to_string(tile_.length) + " elements (a team's scratch holds " +
                 std::to_string(most) + ")");
    }
    tile_.pieces = most / tile_.length;
  }

  void operator()(std::string const& label, Exec const& exec, Rule const& rule, T const* in, T* out) const {
    if (n_ == 0) return;
    typename Kernel::Policy policy(exec, league_of(tiles_of(n_, static_cast<std::size_t>(tile_.size()))), threads_);
    auto const bytes = static_cast<int>(Kernel::scratch_bytes(tile_));
    Kokkos::parallel_for(label, policy.set_scratch_size(0, Kokkos::PerTeam(bytes)), Kernel{rule, in, out, n_, tile_});
  }

 private:
  std::size_t n_;
  int threads_;
  detail::SegmentTile tile_;
};

}  // namespace tessera::kernels
