#pragma once
/// \file
/// Segment rules over an array: each result depends on the element, on a neighbour, and on a fold of the first elements
/// of its segment, or of all of them. collective/segment_rule.hpp defines a rule. One launch, 2n elements of traffic:
///
/// - SegmentLanes: each thread holds the segments of its part in the registers of its lanes, which exchange folds. No
///   scratch, no barriers; for GPUs. A thread has 32 lanes on every machine, hardware lanes or emulated ones, so that
///   an element's lane and the order of operations are the same everywhere. Segments whose length is not a power of two
///   occupy the places of the next power of two, and are accessed element by element.
/// - SegmentScratch: a team loads a tile of whole segments into its scratch and folds each segment there. Two barriers
///   per tile; if whole segments are folded, one more for every halving.
/// - SegmentRange: a range with one index per segment. The fastest kernel on a host, where a core processes a segment
///   with vector instructions. On a GPU, neighbouring threads access memory one segment apart.
///
/// Example, maximum, segments of 5: 3 1 4 1 5 | 2 6 -> 5 5 5 5 5 | 6 6. In scratch 3 1 4 1 5 becomes 3 5 4 . . (the
/// last two are folded onto the first two), then 4 5 . . ., then 5. In lanes with packs of 4 and 4 rows, a part has 512
/// places: 64 segments of 5, which take 8 places each.
///
/// Use:  apply_segment_rule(exec, MaxRule<float>{}, segment, in, out);
/// or, enqueued many times:
///   SegmentLanes<Exec, MaxRule<float>> max(exec, {.n = n, .segment = segment});  max(exec, in, out);

#include <Kokkos_Core.hpp>

#include <bit>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/segment_rule.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/collective/thread/segment_rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/segment_shape.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/array_kernel.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::kernels {

/// Tuning parameters of SegmentLanes, SegmentScratch and SegmentRange.
template <ExecutionSpace Exec, class T>
struct SegmentTuning : PartsTuning<Exec> {
  // SegmentLanes.
  static constexpr int lanes = 32;  ///< per thread
  static constexpr int rows = 4;    ///< packs in flight per lane, which keep the memory busy
  /// Elements of a pack: 16 bytes, but at most 4 elements (8 bytes of 16-bit floats), so that a segment of 4 or a fold
  /// of 4 is at least one pack.
  static constexpr int pack = collective::pack_width<T> < 4 ? collective::pack_width<T> : 4;
  /// Limits the registers. Without it, the masks of incomplete parts would take twice as many, and only half as many
  /// lanes could wait for memory at a time.
  template <int RowCount>
  using Bounds = Kokkos::LaunchBounds<512, (RowCount <= 4 ? 2 : 1)>;

  // SegmentScratch.
  static constexpr bool element_a_thread = is_gpu<Exec>;  ///< else a thread handles whole segments, with vectors
  static constexpr int scratch_piece = 64;                ///< elements of a piece, if the array is one segment

  // SegmentRange.
  /// Elements per index, if the array is one segment.
  static constexpr int index = is_gpu<Exec> ? 8 : collective::longest_segment;
};

namespace detail {

/// Returns the length of a segment for the kernels; 0: the array is one segment. A rule that only reads partners gives
/// the same results for any even length. Throws std::invalid_argument if the segment is too long, or if the array is
/// one segment and the rule folds whole segments.
template <collective::SegmentRule Rule>
[[nodiscard]] int segment_of(SegmentShape const& shape) {
  static_assert(!collective::folds<Rule> || Rule::neighbour != collective::Neighbour::partner,
                "Tessera: a rule that folds looks at the next element or at none");
  if (shape.segment > static_cast<std::size_t>(collective::longest_segment)) {
    throw std::invalid_argument("segments of " + std::to_string(shape.segment) + " elements (a kernel holds up to " +
                                std::to_string(collective::longest_segment) + ")");
  }
  if (shape.segment == 0 && collective::folds_whole_segments<Rule>) {
    throw std::invalid_argument("a segment of the whole array (a kernel folds only segments that it holds)");
  }
  if (shape.segment == 0 && Rule::neighbour == collective::Neighbour::partner) return 32;
  return static_cast<int>(shape.segment);
}

template <class Exec, class Rule, class Tuning, int RowCount>
struct SegmentLanesKernel {
  using T = typename Rule::Element;
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::template Bounds<RowCount>>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  static constexpr int pack = Tuning::pack;
  static constexpr int places = RowCount * Lanes::width * pack;  // per thread's part
  using Items = thread::Rows<T, RowCount, pack>;
  using Folds = thread::RowFolds<Rule, RowCount>;

  Rule rule;
  T const* in;
  T* out;
  std::size_t n;
  std::size_t parts;
  int part_elements;
  int places_log2;  // per segment
  int length;       // of a segment; places + 1 if the array is one segment
  bool dense;
  int parts_per_team;

  /// \param segment elements per segment; 0: the array is one segment
  SegmentLanesKernel(Rule const& rule_, T const* in_, T* out_, std::size_t n_, int segment, int parts_per_team_)
      : rule(rule_), in(in_), out(out_), n(n_), parts_per_team(parts_per_team_) {
    auto const of_segment =
        segment == 0 ? static_cast<unsigned>(places) : std::bit_ceil(static_cast<unsigned>(segment));
    places_log2 = std::countr_zero(of_segment);
    length = segment == 0 ? places + 1 : segment;
    dense = segment == 0 || static_cast<unsigned>(segment) == of_segment;
    part_elements = segment == 0 ? places : places / static_cast<int>(of_segment) * segment;
    parts = tiles_of(n, static_cast<std::size_t>(part_elements));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    std::size_t const first = static_cast<std::size_t>(team.league_rank()) * static_cast<std::size_t>(parts_per_team);
    for (int p = team.team_rank(); p < parts_per_team; p += team.team_size()) {
      std::size_t const part = first + static_cast<std::size_t>(p);
      if (part < parts) of_part(part * static_cast<std::size_t>(part_elements));
    }
  }

 private:
  KOKKOS_FUNCTION void of_part(std::size_t begin) const {
    Lanes const lanes;
    int const count = thread::count_before(begin, n, part_elements);
    thread::SegmentPlaces const part{.places_log2 = places_log2,
                                     .length = length,
                                     .count = count,
                                     .available = thread::count_before(begin, n, part_elements + 1),
                                     .dense = dense,
                                     .whole = dense && count == places};
    typename Lanes::template Value<Items> values;
    thread::load_segments(lanes, in + begin, part, values);
    T const behind = length > places && part.available > places ? in[begin + places] : T(0);
    if (part.whole && part.places() >= pack) {
      apply<true>(lanes, part, behind, values);
    } else {
      apply<false>(lanes, part, behind, values);
    }
    thread::store_segments(lanes, out + begin, part, values);
  }

  template <bool Plain>
  KOKKOS_FUNCTION void apply(Lanes const& lanes, thread::SegmentPlaces const& part, T behind,
                             typename Lanes::template Value<Items>& values) const {
    auto folds = lanes.template fill<Folds>(Folds{});
    if constexpr (collective::folds<Rule>) {
      bool const is_one = length > places;
      if constexpr (!collective::folds_whole_segments<Rule>) {
        if (is_one) {
          Folds of_array{};
          auto const head = collective::fold_head(rule, in, thread::count_before(0, n, Rule::reach));
          for (int row = 0; row < RowCount; ++row) of_array.at[row] = head;
          folds = lanes.template fill<Folds>(of_array);
        }
      }
      if (!is_one) folds = thread::fold_segments<Items, Plain>(lanes, rule, part, values);
    }
    thread::finish_segments<Items, Plain>(lanes, rule, part, folds, behind, values);
  }
};

/// How a tile is split into pieces of `length` elements. A piece is a segment, or a piece of the array if that is one
/// segment.
struct SegmentTile {
  int pieces = 1;
  int length = 1;
  bool one_segment = false;

  [[nodiscard]] KOKKOS_FUNCTION int size() const { return pieces * length; }
};

template <class Exec, class Rule, class Tuning>
struct SegmentScratchKernel {
  using T = typename Rule::Element;
  using Folded = typename Rule::Folded;
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  template <class U>
  using Scratch = ScratchView<U*, Exec>;
  static constexpr bool folds_all = collective::folds_whole_segments<Rule>;

  Rule rule;
  T const* in;
  T* out;
  std::size_t n;
  SegmentTile tile;

  // Returns the number of elements in scratch: none for a rule that folds whole segments, which needs only the fold;
  // otherwise the elements of the tile and the next one.
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
    leave_scratch(team);
  }

 private:
  // Calls body(piece, position) for the first `positions` positions of every piece.
  template <class Body>
  KOKKOS_FUNCTION void for_each_of_pieces(Member const& team, int positions, Body const& body) const {
    if constexpr (Tuning::element_a_thread) {
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

  // Returns the fold of a piece's segment in the form that `finish` requires.
  [[nodiscard]] KOKKOS_FUNCTION auto settled_of(Folded const* folds, int piece) const {
    int const fold = folds_all ? piece * tile.length : (tile.one_segment ? 0 : piece);
    return rule.settle(collective::folds<Rule> ? folds[fold] : rule.nothing());
  }

  KOKKOS_FUNCTION void finish(Member const& team, T const* values, Folded const* folds, int count, int available,
                              T* to) const {
    if constexpr (Tuning::element_a_thread || folds_all) {
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

  // Folds the second half of the remaining elements of each segment onto the first half, until one element remains.
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

template <class Rule>
struct SegmentRangeKernel {
  using T = typename Rule::Element;

  Rule rule;
  T const* in;
  T* out;
  std::size_t n;
  int length;  // elements per index
  bool one_segment;

  KOKKOS_FUNCTION void operator()(std::size_t index) const {
    std::size_t const begin = index * static_cast<std::size_t>(length);
    int const count = thread::count_before(begin, n, length);
    bool const has_next = one_segment && begin + static_cast<std::size_t>(count) < n;
    collective::finish_run(rule, in + begin, count, has_next, rule.settle(folded(in + begin, count)), out + begin);
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION typename Rule::Folded folded(T const* segment, int count) const {
    if constexpr (collective::folds_whole_segments<Rule>) {
      return collective::fold_run(rule, segment, count);
    } else if constexpr (collective::folds<Rule>) {
      return collective::fold_head(rule, one_segment ? in : segment,
                                   one_segment ? thread::count_before(0, n, Rule::reach) : count);
    } else {
      return rule.nothing();
    }
  }
};

}  // namespace detail

/// out[i] = rule(in[i]), by lanes. Arrays that are aligned to 16 bytes are accessed in packs, others element by
/// element.
///
/// Construct it once: chooses teams, allocates nothing. Throws Skip if the space cannot provide such teams. Throws
/// std::invalid_argument if a segment is longer than longest_segment, or if the array is one segment and the rule folds
/// whole segments. A call only enqueues; calls on one object may run concurrently. `in` and `out` must not overlap; a
/// call throws std::invalid_argument if one is strided or does not have n elements.
template <ExecutionSpace Exec, collective::SegmentRule Rule, class Tuning = SegmentTuning<Exec, typename Rule::Element>>
class SegmentLanes : public ArrayKernel<SegmentLanes<Exec, Rule, Tuning>, Exec, typename Rule::Element> {
  using T = typename Rule::Element;
  using Base = ArrayKernel<SegmentLanes, Exec, T>;
  friend Base;
  template <int RowCount>
  using Kernel = detail::SegmentLanesKernel<Exec, Rule, Tuning, RowCount>;
  static constexpr int few = Tuning::rows;
  // for segments that `few` rows do not hold
  static constexpr int many = collective::longest_segment / Kernel<1>::places;
  static constexpr int vector_length = lane::vector_length<Exec>(Tuning::lanes);

 public:
  /// \param shape its tile is ignored
  /// \param label kernel name that Kokkos Tools reports
  SegmentLanes(Exec const& exec, SegmentShape const& shape, std::string label = "tessera::segments",
               Rule const& rule = {})
      : Base(shape.n, std::move(label)),
        rule_(rule),
        segment_(detail::segment_of<Rule>(shape)),
        threads_(team_size(exec, shape.team, vector_length)) {}

 private:
  void enqueue(Exec const& exec, T const* in, T* out) const {
    if (segment_ > Kernel<few>::places) {
      launch<many>(exec, in, out);
    } else {
      launch<few>(exec, in, out);
    }
  }

  template <int RowCount>
  void launch(Exec const& exec, T const* in, T* out) const {
    int const parts = Tuning::parts(threads_);
    Kernel<RowCount> const kernel(rule_, in, out, this->n_, segment_, parts);
    typename Kernel<RowCount>::Policy const policy(
        exec, league_of(tiles_of(kernel.parts, static_cast<std::size_t>(parts))), threads_, vector_length);
    Kokkos::parallel_for(this->label_, policy, kernel);
  }

  Rule rule_;
  int segment_;
  int threads_;
};

/// As SegmentLanes, through team scratch.
template <ExecutionSpace Exec, collective::SegmentRule Rule, class Tuning = SegmentTuning<Exec, typename Rule::Element>>
class SegmentScratch : public ArrayKernel<SegmentScratch<Exec, Rule, Tuning>, Exec, typename Rule::Element> {
  using T = typename Rule::Element;
  using Base = ArrayKernel<SegmentScratch, Exec, T>;
  friend Base;
  using Kernel = detail::SegmentScratchKernel<Exec, Rule, Tuning>;

 public:
  /// Parameters as for SegmentLanes.
  SegmentScratch(Exec const& exec, SegmentShape const& shape, std::string label = "tessera::segments",
                 Rule const& rule = {})
      : Base(shape.n, std::move(label)), rule_(rule), threads_(team_size(exec, shape.team)) {
    int const segment = detail::segment_of<Rule>(shape);
    tile_.one_segment = segment == 0;
    tile_.length = segment == 0 ? Tuning::scratch_piece : segment;
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

 private:
  void enqueue(Exec const& exec, T const* in, T* out) const {
    typename Kernel::Policy policy(exec, league_of(tiles_of(this->n_, static_cast<std::size_t>(tile_.size()))),
                                   threads_);
    Kokkos::parallel_for(this->label_, with_scratch(policy, Kernel::scratch_bytes(tile_)),
                         Kernel{rule_, in, out, this->n_, tile_});
  }

  Rule rule_;
  int threads_;
  detail::SegmentTile tile_;
};

/// As SegmentLanes, by a range with one index per segment.
template <ExecutionSpace Exec, collective::SegmentRule Rule, class Tuning = SegmentTuning<Exec, typename Rule::Element>>
class SegmentRange : public ArrayKernel<SegmentRange<Exec, Rule, Tuning>, Exec, typename Rule::Element> {
  using T = typename Rule::Element;
  using Base = ArrayKernel<SegmentRange, Exec, T>;
  friend Base;

 public:
  /// Parameters as for SegmentLanes; shape.team is ignored, too.
  SegmentRange(Exec const&, SegmentShape const& shape, std::string label = "tessera::segments", Rule const& rule = {})
      : Base(shape.n, std::move(label)), rule_(rule), segment_(detail::segment_of<Rule>(shape)) {}

 private:
  void enqueue(Exec const& exec, T const* in, T* out) const {
    int const length = segment_ == 0 ? Tuning::index : segment_;
    Kokkos::parallel_for(this->label_, over(exec, tiles_of(this->n_, static_cast<std::size_t>(length))),
                         detail::SegmentRangeKernel<Rule>{rule_, in, out, this->n_, length, segment_ == 0});
  }

  Rule rule_;
  int segment_;
};

/// The faster kernel: SegmentLanes on a GPU, SegmentRange on a host.
template <ExecutionSpace Exec, collective::SegmentRule Rule>
using SegmentKernel = std::conditional_t<is_gpu<Exec>, SegmentLanes<Exec, Rule>, SegmentRange<Exec, Rule>>;

/// out[i] = rule(in[i]). `in` and `out` [n] must be contiguous and must not overlap; `segment` elements per segment, at
/// most longest_segment; 0: the whole array is one segment. Convenience for a single call: enqueues and waits.
template <ExecutionSpace Exec, collective::SegmentRule Rule, class In, class Out>
void apply_segment_rule(Exec const& exec, Rule const& rule, std::size_t segment, In const& in, Out const& out) {
  SegmentKernel<Exec, Rule> const kernel(exec, {.n = in.extent(0), .segment = segment}, "tessera::segments", rule);
  kernel(exec, in, out);
  exec.fence("tessera: segments");
}

}  // namespace tessera::kernels
