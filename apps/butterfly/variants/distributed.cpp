/// \file
/// On several ranks: each rank makes the results of its complete segments. Meanwhile it receives the missing elements
/// of the segments that cross its ends; then it computes these segments and keeps its part of the results. By lanes on
/// a GPU, with one index per segment on a host (kernels/segments.hpp).
///
/// If the whole array is one segment, each rank folds its own block as reduce_broadcast does. The folds are merged over
/// chunks and ranks on the host, and the second launch writes the results. pair_swap needs only each element's partner.

#include <cstddef>
#include <utility>
#include <variant>

#include "../butterfly_rules.hpp"
#include "../fold_broadcast.hpp"

#include <tessera/kernels/segments.hpp>
#include <tessera/ranks/cut_segments.hpp>

namespace tessera::butterfly {

/// The plan if the array of all ranks is one segment.
template <ExecutionSpace Exec, class T, class Rule>
class OneSegmentOnRanks {
  using Folded = typename Rule::Folded;

 public:
  OneSegmentOnRanks(Exec const& exec, InputOn<Butterfly, Exec, T> const& input, ranks::Part const& part)
      : ranks_(part.ranks),
        fold_(exec, input.in.extent(0), input.parameters.team, "tessera::butterfly::distributed",
              part.ranks.block(part.input[0][0]).begin % 2 == 1),
        host_(unset("tessera::butterfly::distributed::host"), fold_.chunks()) {}

  void operator()(Exec const& exec, InputOn<Butterfly, Exec, T> const& input,
                  OutputOn<Butterfly, Exec, T> const& output) const {
    if (input.in.extent(0) == 0) {  // nothing to write, nothing to send
      (void)of_all_ranks(Rule{}.nothing());
      return;
    }
    fold_(exec, input.in, output.out, [&](auto const& folds) {
      Kokkos::deep_copy(exec, host_, folds);
      exec.fence("tessera::butterfly::distributed: own folds");
      Folded own = Rule{}.nothing();
      for (std::size_t i = 0; i < host_.extent(0); ++i) {
        own = Rule{}.combine(own, host_(i));
        host_(i) = Rule{}.nothing();
      }
      host_(0) = of_all_ranks(own);
      Kokkos::deep_copy(exec, folds, host_);
    });
  }

 private:
  [[nodiscard]] Folded of_all_ranks(Folded const& own) const {
    return ranks_.fold(own, [](Folded const& a, Folded const& b) { return Rule{}.combine(a, b); });
  }

  ranks::Ranks const& ranks_;
  FoldBroadcast<Exec, Rule> fold_;
  Kokkos::View<Folded*, Kokkos::HostSpace> host_;
};

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed",
      .level = Level::ranks,
      .summary = "segments split over the ranks, cut ones on each; with --segment 0 folds are merged"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Butterfly, Exec, T> const& input, ranks::Part const& part)
        : way_(chosen(exec, input, part)) {}

    void operator()(Exec const& exec, InputOn<Butterfly, Exec, T> const& input,
                    OutputOn<Butterfly, Exec, T> const& output) const {
      std::visit([&](auto const& way) { way(exec, input, output); }, way_);
    }

   private:
    using Segments =
        ranks::SegmentPlanOnRanks<Butterfly, Distributed, Exec, T, kernels::SegmentKernel<Exec, PairSwapRule<T>>,
                                  kernels::SegmentKernel<Exec, MaxRule<T>>,
                                  kernels::SegmentKernel<Exec, MinMaxRule<T>>>;
    using Max = OneSegmentOnRanks<Exec, T, MaxRule<T>>;
    using MinMax = OneSegmentOnRanks<Exec, T, MinMaxRule<T>>;
    using Way = std::variant<Segments, Max, MinMax>;

    [[nodiscard]] static Way chosen(Exec const& exec, InputOn<Butterfly, Exec, T> input, ranks::Part const& part) {
      if (input.parameters.segment == 0) {
        if (input.parameters.op == ButterflyOp::max) return Way(std::in_place_type<Max>, exec, input, part);
        if (input.parameters.op == ButterflyOp::minmax_parity) {
          return Way(std::in_place_type<MinMax>, exec, input, part);
        }
        input.parameters.segment = 2;  // elements have the same partners in segments of 2
      }
      return Way(std::in_place_type<Segments>, exec, input, part);
    }

    Way way_;
  };
};

VariantRows distributed() { return rows<Butterfly, Distributed>(); }

}  // namespace tessera::butterfly
