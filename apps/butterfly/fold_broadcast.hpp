#pragma once
/// \file
/// Applies a rule that folds whole segments (segment_rule.hpp) to an array that is one segment: two launches, in fixed
/// order, without atomics. In the first launch teams fold their chunks. In the second, every team folds the results of
/// all teams and writes its own chunk. Traffic is 2n elements: the second launch does not read the input.
///
/// Example, maximum, chunks of 4: 3 1 4 1 | 5 9 -> 4 and 9 -> 9 9 9 9 | 9 9.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/segment_rule.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::butterfly {

namespace detail {

// A rule's fold as the operator of a reduction.
template <class Rule>
struct FoldOperator {
  using Folded = typename Rule::Folded;
  Rule rule;

  [[nodiscard]] KOKKOS_FUNCTION Folded identity() const { return rule.nothing(); }
  [[nodiscard]] KOKKOS_FUNCTION Folded operator()(Folded const& a, Folded const& b) const { return rule.combine(a, b); }
};

template <class Exec, class Rule>
struct FoldBroadcastKernel {
  struct Fold {};
  struct Write {};
  using T = typename Rule::Element;
  using Folded = typename Rule::Folded;
  template <class Step>
  using Policy = Kokkos::TeamPolicy<Exec, Step>;
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  static constexpr int rows = 4;
  static constexpr int pack = collective::pack_width<T>;
  static constexpr int part = rows * Lanes::width * pack;  // elements that a thread takes at a time
  using Items = thread::Rows<T, rows, pack>;
  // A thread's folds, one per register place, so that no element waits for another.
  struct Folds {
    Folded at[rows][pack];
  };
  using Scratch = ScratchView<Folded*, Exec>;

  Rule rule;
  T const* in;
  T* out;
  Folded* partial;  // one per chunk
  kernels::Chunks chunks;
  bool begins_odd;  // out[0] has an odd index

  [[nodiscard]] static std::size_t scratch_bytes(int threads) { return Scratch::shmem_size(threads); }

  KOKKOS_FUNCTION void operator()(Fold, Member const& team) const {
    Lanes const lanes;
    Folded const folded = of_team(team, lanes, of_chunk(team, lanes));
    Kokkos::single(Kokkos::PerTeam(team), [&] { partial[team.league_rank()] = folded; });
    leave_scratch(team);
  }

  KOKKOS_FUNCTION void operator()(Write, Member const& team) const {
    Lanes const lanes;
    auto const settled = rule.settle(of_team(team, lanes, of_partial(team, lanes)));
    typename Lanes::template Value<Items> values;
    lanes.each(
        [&](int, Items& items) {
          for (int row = 0; row < rows; ++row) {
            // Packs hold an even number of elements, and chunks begin at even elements.
            for (int e = 0; e < pack; ++e)
              items.at[row][e] = rule.finish(T(0), T(0), settled, ((e & 1) != 0) != begins_odd);
          }
        },
        values);
    for_each_part(team, [&](std::size_t begin, int count) { thread::store_rows(lanes, out + begin, count, values); });
    leave_scratch(team);
  }

 private:
  template <class Body>
  KOKKOS_FUNCTION void for_each_part(Member const& team, Body const& body) const {
    std::size_t const end = chunks.end(team.league_rank());
    std::size_t const stride = static_cast<std::size_t>(team.team_size()) * part;
    for (std::size_t begin = chunks.begin(team.league_rank()) + static_cast<std::size_t>(team.team_rank()) * part;
         begin < end; begin += stride) {
      body(begin, thread::count_before(begin, end, part));
    }
  }

  KOKKOS_FUNCTION Folded of_chunk(Member const& team, Lanes const& lanes) const {
    Folds nothing;
    for (auto& row : nothing.at) {
      for (auto& fold : row) fold = rule.nothing();
    }
    auto folds = lanes.template fill<Folds>(nothing);
    for_each_part(team, [&](std::size_t begin, int count) {
      typename Lanes::template Value<Items> values;
      thread::load_rows(lanes, in + begin, count, T(0), values);
      lanes.each(
          [&](int lane, Folds& own, Items const& items) {
            for (int row = 0; row < rows; ++row) {
              for (int e = 0; e < pack; ++e) {
                if (count == part || thread::row_offset<Lanes::width, pack>(row, lane, e) < count) {
                  own.at[row][e] = rule.combine(own.at[row][e], rule.lift(items.at[row][e]));
                }
              }
            }
          },
          folds, values);
    });
    auto of_lane = lanes.template fill<Folded>(rule.nothing());
    lanes.each(
        [&](int, Folded& folded, Folds const& own) {
          for (int row = 0; row < rows; ++row) {
            for (int e = 0; e < pack; ++e) folded = rule.combine(folded, own.at[row][e]);
          }
        },
        of_lane, folds);
    return thread::reduce<Folded>(lanes, of_lane, FoldOperator<Rule>{rule});
  }

  KOKKOS_FUNCTION Folded of_partial(Member const& team, Lanes const& lanes) const {
    auto of_lane = lanes.template fill<Folded>(rule.nothing());
    for (int first = team.team_rank() * Lanes::width; first < chunks.count; first += team.team_size() * Lanes::width) {
      lanes.each(
          [&](int lane, Folded& folded) {
            if (first + lane < chunks.count) folded = rule.combine(folded, partial[first + lane]);
          },
          of_lane);
    }
    return thread::reduce<Folded>(lanes, of_lane, FoldOperator<Rule>{rule});
  }

  KOKKOS_FUNCTION Folded of_team(Member const& team, Lanes const& lanes, Folded const& own) const {
    Scratch const of_threads(team.team_scratch(0), team.team_size());
    return team::scan_threads(team, lanes, own, of_threads.data(), FoldOperator<Rule>{rule}).total;
  }
};

}  // namespace detail

/// Writes the rule's results from the fold of in[0 .. n) to out. Constructed once: allocates one fold per team; may
/// throw Skip. Calls only enqueue. Calls of one object must not run at the same time, because they share this memory.
template <ExecutionSpace Exec, collective::SegmentRule Rule>
  requires collective::folds_whole_segments<Rule>
class FoldBroadcast {
  using Kernel = detail::FoldBroadcastKernel<Exec, Rule>;
  using T = typename Rule::Element;
  static constexpr int vector_length = lane::vector_length<Exec>(Kernel::Lanes::width);

 public:
  /// \param team threads per team; 0: choose. \param begins_odd whether the first element has an odd index
  FoldBroadcast(Exec const& exec, std::size_t n, std::int64_t team, std::string const& label, bool begins_odd = false)
      : fold_label_(label + "::fold"),
        write_label_(label + "::write"),
        threads_(kernels::team_size(exec, team, vector_length)),
        chunks_(
            kernels::chunks_of(exec, n, static_cast<std::size_t>(threads_) * Kernel::part, threads_ * vector_length)),
        partial_(unset(label + "::partial"), chunks_.count),
        begins_odd_(begins_odd) {}

  /// `in` [n], `out` [n]: contiguous; must not overlap.
  template <kernels::Readable<Exec, T, 1> In, kernels::Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    (*this)(exec, in, out, [](auto const&) {});
  }
  /// The same, but calls between(folds) after the first launch, unless n is 0. `folds` is a View of the folds of all
  /// chunks() chunks. `between` may change them; the second launch uses the changed folds.
  template <kernels::Readable<Exec, T, 1> In, kernels::Writable<Exec, T, 1> Out, class Between>
  void operator()(Exec const& exec, In const& in, Out const& out, Between const& between) const {
    Kernel const kernel{
        {},         kernels::contiguous(in, chunks_.n), kernels::contiguous(out, chunks_.n), partial_.data(), chunks_,
        begins_odd_};
    if (chunks_.n == 0) return;
    std::size_t const scratch = Kernel::scratch_bytes(threads_);
    typename Kernel::template Policy<typename Kernel::Fold> const fold(exec, chunks_.count, threads_, vector_length);
    Kokkos::parallel_for(fold_label_, with_scratch(fold, scratch), kernel);
    between(partial_);
    typename Kernel::template Policy<typename Kernel::Write> const write(exec, chunks_.count, threads_, vector_length);
    Kokkos::parallel_for(write_label_, with_scratch(write, scratch), kernel);
  }

  [[nodiscard]] int chunks() const { return chunks_.count; }

 private:
  std::string fold_label_;
  std::string write_label_;
  int threads_;
  kernels::Chunks chunks_;
  Kokkos::View<typename Rule::Folded*, typename Exec::memory_space> partial_;
  bool begins_odd_;
};

}  // namespace tessera::butterfly
