/// \file
/// On several ranks: each rank partitions its block (kernels/partition.hpp) into two runs, the left and the right
/// elements. They go to the ranks that own their places: first all left elements, in the order of the ranks, then all
/// right elements (ranks/runs_to_places.hpp). Traffic 3n, then n to other ranks.
///
/// Example, left is < 5, 2 ranks: 3 7 1 | 8 9 2 -> 3 1 7 | 2 8 9, with 2 and 1 left elements: the second rank's left
/// element goes to place 2, the first rank's right element to place 3. Result: 3 1 2 | 7 8 9.

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "../predicate.hpp"
#include "../problem.hpp"

#include <tessera/kernels/partition.hpp>
#include <tessera/ranks/runs_to_places.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank partitions its block, then lefts and rights to their places"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          own_(part.ranks.block(length(input.parameters, part))),
          split_(exec, own_.size(), LessThanPivot<T>(input.parameters.pivot), input.parameters.tile,
                 input.parameters.team, "tessera::partition::distributed"),
          values_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::partition::distributed::values"),
                  alone() ? 0 : own_.size()),
          to_places_(exec, part.ranks, part.input[0][0], own_.size(), "tessera::partition::distributed") {}

    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) {
      if (output.left_count.extent(0) == 0) return;  // no elements and no segments on any rank
      auto const count = Kokkos::subview(output.left_count, 0);
      if (alone()) return split_(exec, input.in, output.values, count);
      split_(exec, input.in, values_, count);
      Kokkos::deep_copy(exec, own_lefts_, count);
      exec.fence("tessera::partition::distributed: own lefts");
      auto const lefts = static_cast<std::size_t>(own_lefts_());
      to_places_(exec, {lefts, own_.size() - lefts}, values_.data(), output.values.data());
      Kokkos::deep_copy(exec, count, static_cast<std::int64_t>(to_places_.length(0)));
    }

    [[nodiscard]] std::string note() const { return split_.note(); }

   private:
    using Memory = typename Exec::memory_space;
    // The faster kernel for each kind of device.
    using Split = std::conditional_t<is_gpu<Exec>, kernels::LookBackPartition<Exec, T, LessThanPivot<T>>,
                                     kernels::ReduceThenScatter<Exec, T, LessThanPivot<T>>>;

    [[nodiscard]] bool alone() const { return ranks_.count() == 1; }

    [[nodiscard]] static std::size_t length(Parameters const& parameters, ranks::Part const& part) {
      require_kept_order(parameters);
      std::size_t const n = part.input[0][0];
      if (!parameters.is_one_segment(n)) {
        throw Skip("segments of " + std::to_string(parameters.segment) + " (the whole array is partitioned at once)");
      }
      return n;
    }

    ranks::Ranks const& ranks_;
    ranks::Block own_;
    Split split_;
    Array<T*, Memory> values_;  // this rank's elements, left elements first
    ranks::RunsToPlaces<Exec, T, 2> to_places_;
    Kokkos::View<std::int64_t, Kokkos::HostSpace> own_lefts_{"tessera::partition::distributed::own_lefts"};
  };
};

VariantRows distributed() { return rows<Partition, Distributed>(); }

}  // namespace tessera::partition
