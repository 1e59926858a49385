/// \file
/// Stream compaction on several ranks: each rank compacts its block (kernels/partition.hpp), and all left elements go
/// to the ranks that own the first places, in the order of the ranks (ranks/runs_to_places.hpp). The rest of `values`
/// is not changed. Traffic: n + 2L elements, with L the number of left elements. Most left elements go to other ranks,
/// because only the first L places are written.
///
/// Example, left is < 5, 2 ranks: 3 7 1 | 8 9 2 -> 3 1 | 2, with 2 and 1 left elements: the second rank's left element
/// goes to place 2, which the first rank owns. Result: 3 1 2 | nothing.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../compaction.hpp"
#include "../predicate.hpp"
#include "../problem.hpp"

#include <tessera/kernels/partition.hpp>
#include <tessera/ranks/runs_to_places.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct DistributedCompact {
  static constexpr VariantInfo info{
      .name = "distributed_compact",
      .level = Level::ranks,
      .summary = "stream compaction: each rank's left part, then all to the first places"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          own_(part.ranks.block(length(input.parameters, part))),
          compact_(exec, own_.size(), LessThanPivot<T>(input.parameters.pivot), input.parameters.tile,
                   input.parameters.team, "tessera::partition::distributed_compact"),
          lefts_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::partition::distributed_compact::lefts"),
                 alone() ? 0 : own_.size()),
          to_places_(exec, part.ranks, part.input[0][0], own_.size(), "tessera::partition::distributed_compact"),
          work_(compaction_work<Exec, T>(exec, input)) {}

    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) {
      auto const count = Kokkos::subview(output.left_count, 0);
      if (alone()) return compact_(exec, input.in, output.values, count);
      compact_(exec, input.in, lefts_, count);
      Kokkos::deep_copy(exec, own_count_, count);
      exec.fence("tessera::partition::distributed_compact: own lefts");
      to_places_(exec, {static_cast<std::size_t>(own_count_())}, lefts_.data(), output.values.data());
      Kokkos::deep_copy(exec, count, static_cast<std::int64_t>(to_places_.length(0)));
    }

    [[nodiscard]] std::string note() const { return compact_.note(); }
    [[nodiscard]] std::vector<WrittenField> outputs() const { return left_part(own_.begin); }
    // The work of all ranks.
    [[nodiscard]] Work work() const {
      return {.bytes = ranks_.sum(work_.bytes) + sizeof(std::int64_t), .flops = ranks_.sum(work_.flops)};
    }

   private:
    using Memory = typename Exec::memory_space;

    [[nodiscard]] bool alone() const { return ranks_.count() == 1; }

    [[nodiscard]] static std::size_t length(Parameters const& parameters, ranks::Part const& part) {
      expect_one_segment(parameters, part.input[0][0]);
      return part.input[0][0];
    }

    ranks::Ranks const& ranks_;
    ranks::Block own_;
    kernels::LookBackCompaction<Exec, T, LessThanPivot<T>> compact_;
    Array<T*, Memory> lefts_;  // this rank's left elements
    ranks::RunsToPlaces<Exec, T, 1> to_places_;
    Work work_;
    Kokkos::View<std::int64_t, Kokkos::HostSpace> own_count_{"tessera::partition::distributed_compact::own_count"};
  };
};

VariantRows distributed_compact() { return rows<Partition, DistributedCompact>(); }

}  // namespace tessera::partition
