/// \file
/// On several ranks: each rank makes the results of its complete segments. Meanwhile it receives the missing elements
/// of the segments that cross its ends; then it computes these segments and keeps its part of the results. By lanes on
/// a GPU, with one index per segment on a host (kernels/segments.hpp).
///
/// If the whole array is one segment, every rank gets the array's first 8 (or 4) elements, whichever ranks have them,
/// and the kernels take their fold as given. shuffle also needs the next rank's first element for a rank's last one.

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <variant>

#include "../broadcast_rules.hpp"

#include <tessera/kernels/segments.hpp>
#include <tessera/ranks/cut_segments.hpp>
#include <tessera/ranks/halo.hpp>

namespace tessera::lane_broadcast {

/// A rule without a fold: the fold of the segment's head is already in memory.
template <class Rule>
struct OfGivenHead : collective::FoldsNothing<typename Rule::Element> {
  using Element = typename Rule::Element;
  static constexpr auto neighbour = Rule::neighbour;

  Rule rule;
  typename Rule::Folded const* head;  ///< in memory that the kernel reads

  [[nodiscard]] KOKKOS_FUNCTION auto settle(typename OfGivenHead::Folded) const { return rule.settle(*head); }
  [[nodiscard]] KOKKOS_FUNCTION Element alone(Element x) const { return rule.alone(x); }
  [[nodiscard]] KOKKOS_FUNCTION Element finish(Element x, Element next, Arithmetic<typename Rule::Folded> settled,
                                               bool odd) const {
    return rule.finish(x, next, settled, odd);
  }
};

/// The plan if the array of all ranks is one segment.
template <ExecutionSpace Exec, class T, class Rule>
class OneSegmentOnRanks {
  using Memory = typename Exec::memory_space;
  using Kernel = kernels::SegmentKernel<Exec, OfGivenHead<Rule>>;
  static constexpr bool looks_behind = Rule::neighbour == collective::Neighbour::next;
  static constexpr std::size_t reach = Rule::reach;

  // The part of the array's first elements that lies on one rank or on several consecutive ranks.
  struct Head {
    T at[reach];
    int count;
  };

 public:
  OneSegmentOnRanks(Exec const& exec, InputOn<LaneBroadcast, Exec, T> const& input, ranks::Part const& part)
      : ranks_(part.ranks),
        next_(part.ranks, part.input[0][0], {0, looks_behind ? std::size_t{1} : std::size_t{0}}, sizeof(T)),
        own_(part.ranks.block(part.input[0][0])),
        first_(unset("first"), std::min(reach, own_.size())),
        behind_(unset("behind"), next_.behind()),
        host_head_(unset("host_head"), 1),
        head_(unset("head"), 1),
        strip_(unset("strip"), 2 * next_.behind()),
        of_strip_(unset("of_strip"), 2 * next_.behind()),
        whole_(kernel(exec, input, own_.size())),
        last_(kernel(exec, input, strip_.size())) {
    next_.lies_at(first_.data(), nullptr, nullptr, behind_.data());
  }

  void operator()(Exec const& exec, InputOn<LaneBroadcast, Exec, T> const& input,
                  OutputOn<LaneBroadcast, Exec, T> const& output) const {
    std::size_t const n = own_.size();
    Kokkos::deep_copy(exec, first_, Kokkos::subview(input.in, std::pair(std::size_t{0}, first_.size())));
    exec.fence("tessera::lane_broadcast::distributed: elements for other ranks");
    Head const head = head_of_array();
    if (looks_behind) next_.exchange();
    if (n == 0) return;
    host_head_(0) = collective::fold_head(Rule{}, head.at, head.count);
    Kokkos::deep_copy(exec, head_, host_head_);
    whole_(exec, input.in, output.out);
    if (behind_.size() == 0) return;
    // Computes the last element again, now with the next rank's first element.
    std::pair const last(n - 1, n);
    auto const part = [](auto const& view, std::size_t i) { return Kokkos::subview(view, std::pair(i, i + 1)); };
    Kokkos::deep_copy(exec, part(strip_, 0), Kokkos::subview(input.in, last));
    Kokkos::deep_copy(exec, part(strip_, 1), behind_);
    last_(exec, Array<T const*, Memory>(strip_), of_strip_);
    Kokkos::deep_copy(exec, Kokkos::subview(output.out, last), part(of_strip_, 0));
  }

 private:
  using Folded = typename Rule::Folded;

  [[nodiscard]] static auto unset(std::string const& name) {
    return tessera::unset("tessera::lane_broadcast::distributed::" + name);
  }
  [[nodiscard]] Kernel kernel(Exec const& exec, InputOn<LaneBroadcast, Exec, T> const& input, std::size_t n) const {
    OfGivenHead<Rule> rule;
    rule.head = head_.data();
    return Kernel(exec, {.n = n, .segment = 0, .team = input.parameters.team},
                  "tessera::lane_broadcast::distributed::apply", rule);
  }
  [[nodiscard]] Head head_of_array() const {
    Head own{};
    own.count = own_.begin < reach ? static_cast<int>(std::min(reach - own_.begin, own_.size())) : 0;
    for (int i = 0; i < own.count; ++i) own.at[i] = first_(static_cast<std::size_t>(i));
    return ranks_.fold(own, [](Head before, Head const& behind) {
      for (int i = 0; i < behind.count; ++i) before.at[before.count++] = behind.at[i];
      return before;
    });
  }

  ranks::Ranks const& ranks_;
  ranks::Halo next_;
  ranks::Block own_;
  Kokkos::View<T*, Kokkos::HostSpace> first_;
  Kokkos::View<T*, Kokkos::HostSpace> behind_;
  Kokkos::View<Folded*, Kokkos::HostSpace> host_head_;
  Array<Folded*, Memory> head_;
  Array<T*, Memory> strip_;
  Array<T*, Memory> of_strip_;
  Kernel whole_;
  Kernel last_;
};

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed",
      .level = Level::ranks,
      .summary = "segments split over the ranks, cut ones on each; with --segment 0 all get the head"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LaneBroadcast, Exec, T> const& input, ranks::Part const& part)
        : op_(input.parameters.op), way_(chosen(exec, input, part)) {}

    void operator()(Exec const& exec, InputOn<LaneBroadcast, Exec, T> const& input,
                    OutputOn<LaneBroadcast, Exec, T> const& output) const {
      std::visit([&](auto const& way) { way(exec, input, output); }, way_);
    }

    /// The same as in BroadcastPlan.
    [[nodiscard]] double rounding_steps() const { return std::array<int, 3>{3, 0, 4}[static_cast<std::size_t>(op_)]; }

   private:
    using Segments =
        ranks::SegmentPlanOnRanks<LaneBroadcast, Distributed, Exec, T, kernels::SegmentKernel<Exec, BasicRule<T>>,
                                  kernels::SegmentKernel<Exec, ConditionalRule<T>>,
                                  kernels::SegmentKernel<Exec, ShuffleRule<T>>>;
    using Basic = OneSegmentOnRanks<Exec, T, BasicRule<T>>;
    using Conditional = OneSegmentOnRanks<Exec, T, ConditionalRule<T>>;
    using Shuffle = OneSegmentOnRanks<Exec, T, ShuffleRule<T>>;
    using Way = std::variant<Segments, Basic, Conditional, Shuffle>;

    [[nodiscard]] static Way chosen(Exec const& exec, InputOn<LaneBroadcast, Exec, T> const& input,
                                    ranks::Part const& part) {
      if (input.parameters.segment > 0) return Way(std::in_place_type<Segments>, exec, input, part);
      switch (input.parameters.op) {
        case BroadcastOp::conditional: return Way(std::in_place_type<Conditional>, exec, input, part);
        case BroadcastOp::shuffle: return Way(std::in_place_type<Shuffle>, exec, input, part);
        default: return Way(std::in_place_type<Basic>, exec, input, part);
      }
    }

    BroadcastOp op_;
    Way way_;
  };
};

VariantRows distributed() { return rows<LaneBroadcast, Distributed>(); }

}  // namespace tessera::lane_broadcast
