/// \file
/// Stream compaction: only the left elements are kept. A single pass with decoupled look-back, which reads n elements,
/// writes the left ones, and nothing more: `values` behind them stays as it is. The kernel is kernels/partition.hpp.

#include "../whole_array_plan.hpp"

#include <tessera/kernels/partition.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct Compact {
  static constexpr VariantInfo info{.name = "compact",
                                    .level = Level::device,
                                    .summary = "stream compaction in a single pass: writes the left part alone"};
  template <class Exec, class T, class Predicate>
  using Kernel = kernels::LookBackCompaction<Exec, T, Predicate>;
  template <ExecutionSpace Exec, class T>
  class Plan : public WholeArrayPlan<Compact, Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
        : WholeArrayPlan<Compact, Exec, T>(exec, one_segment(input)), work_(work_of(exec, input)) {}

    [[nodiscard]] std::vector<WrittenField> outputs() const {
      return {{.field = "values", .count_field = "left_count"}, {.field = "left_count"}};
    }
    [[nodiscard]] Work work() const { return work_; }

    // n elements read, the left ones written: they are counted here, outside of what is timed.
    [[nodiscard]] static Work work_of(Exec const& exec, InputOn<Partition, Exec, T> const& input) {
      LessThanPivot<T> const is_left(input.parameters.pivot);
      auto const in = input.in;
      std::int64_t lefts = 0;
      Kokkos::parallel_reduce(
          "tessera::partition::count_lefts",
          Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, in.extent(0)),
          KOKKOS_LAMBDA(std::size_t i, std::int64_t& sum) { sum += is_left(in(i)) ? 1 : 0; }, lefts);
      auto const n = static_cast<double>(in.extent(0));
      return {.bytes = (n + static_cast<double>(lefts)) * sizeof(T) + sizeof(std::int64_t), .flops = n};
    }

   private:
    [[nodiscard]] static InputOn<Partition, Exec, T> const& one_segment(InputOn<Partition, Exec, T> const& input) {
      std::size_t const segments = input.parameters.segments(input.in.extent(0));
      if (segments != 1) {
        throw Skip(std::to_string(segments) + " segments (the left part of one alone is compacted)");
      }
      return input;
    }

    Work work_;
  };
};

VariantRows compact() { return rows<Partition, Compact>(); }

}  // namespace tessera::partition
