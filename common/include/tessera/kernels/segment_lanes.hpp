#pragma once
/// \file
/// A segment rule (segment_rule.hpp) over a whole array by lane exchange: every thread holds the segments of its part in
/// the registers of its lanes. One launch, no scratch, no barrier, 2n elements of traffic.
///
/// A thread has 32 lanes on every machine, hardware lanes on a GPU and emulated ones on a host: where an element lies and
/// the order of operations are the same. Segments whose length is no power of two take as many places as the next one,
/// and go element by element.
///
/// Example, packs of 4, 4 rows: a part has 512 places, 16 segments of 32, or 64 segments of 5, which take 8 places each.

#include <Kokkos_Core.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/segment_rule.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/collective/thread/segment_rows.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/team_shape.hpp>

namespace tessera::kernels {

namespace detail {

template <class Exec, class Rule, int RowCount>
struct SegmentLanesKernel {
  using T = typename Rule::Element;
  // Masks of parts that are not whole would take twice these registers, and leave the memory half as many lanes that
  // wait for it.
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<512, (RowCount <= 4 ? 2 : 1)>>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, 32>;
  static constexpr int pack = collective::pack_width<T>;
  static constexpr int places = RowCount * Lanes::width * pack;  // of a thread's part
  using Items = thread::Rows<T, RowCount, pack>;
  using Folds = thread::RowFolds<Rule, RowCount>;

  Rule rule;
  T const* in;
  T* out;
  std::size_t n;
  std::size_t parts;
  int part_elements;
  int places_log2;  // of a segment
  int length;       // of a segment; places + 1 if the array is one
  bool dense;
  int parts_per_team;

  /// \param segment elements; 0: the array is one
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
    thread::SegmentPart const part{.places_log2 = places_log2,
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
  KOKKOS_FUNCTION void apply(Lanes const& lanes, thread::SegmentPart const& part, T behind,
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

}  // namespace detail

/// What segment rules are launched on.
struct SegmentShape {
  std::size_t n = 0;
  std::int64_t segment = 0;  ///< elements, up to longest_segment; 0: the whole array is one
  std::int64_t team = 0;     ///< threads; 0: choose
};

/// The elements of a segment as the kernels take them: for a rule that only looks at partners, any even number says the
/// same as "the whole array". A rule that folds whole segments has no answer to a segment of 0.
template <collective::SegmentRule Rule>
[[nodiscard]] constexpr int segment_of(SegmentShape const& shape) {
  static_assert(!collective::folds<Rule> || Rule::neighbour != collective::Neighbour::partner,
                "Tessera: a rule that folds looks at the next element or at none");
  if (shape.segment == 0 && Rule::neighbour == collective::Neighbour::partner) return 32;
  return static_cast<int>(shape.segment);
}

/// out[i] = what the rule makes of in[i], for arrays of n elements that do not overlap; each is 16-byte aligned, or is
/// accessed element by element. Constructed once (chooses; may throw Skip), called many times; a call only enqueues. A
/// rule that folds whole segments needs shape.segment > 0.
template <ExecutionSpace Exec, collective::SegmentRule Rule>
class SegmentLanes {
  using T = typename Rule::Element;
  template <int RowCount>
  using Kernel = detail::SegmentLanesKernel<Exec, Rule, RowCount>;
  // 4 accesses of a lane in flight, which keep the memory busy; as many as the longest segment needs for longer ones.
  static constexpr int few = 4;
  static constexpr int many = collective::longest_segment / (Kernel<1>::places);
  static constexpr int vector_length = lane::vector_length<Exec>(Kernel<few>::Lanes::width);

 public:
  SegmentLanes(Exec const& exec, SegmentShape const& shape)
      : n_(shape.n), segment_(segment_of<Rule>(shape)), threads_(team_size(exec, shape.team, vector_length)) {}

  void operator()(std::string const& label, Exec const& exec, Rule const& rule, T const* in, T* out) const {
    if (n_ == 0) return;
    if (segment_ > Kernel<few>::places) {
      launch<many>(label, exec, rule, in, out);
    } else {
      launch<few>(label, exec, rule, in, out);
    }
  }

 private:
  template <int RowCount>
  void launch(std::string const& label, Exec const& exec, Rule const& rule, T const* in, T* out) const {
    // On a GPU one part a thread; on a host enough that a team is worth starting.
    int const parts_per_team = is_gpu<Exec> ? threads_ : 32;
    Kernel<RowCount> const kernel(rule, in, out, n_, segment_, parts_per_team);
    typename Kernel<RowCount>::Policy const policy(
        exec, league_of(tiles_of(kernel.parts, static_cast<std::size_t>(parts_per_team))), threads_, vector_length);
    Kokkos::parallel_for(label, policy, kernel);
  }

  std::size_t n_;
  int segment_;
  int threads_;
};

}  // namespace tessera::kernels
