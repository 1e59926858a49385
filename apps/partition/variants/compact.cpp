/// \file
/// Stream compaction: only the left elements are kept. A single pass with decoupled look-back, which reads n elements,
/// writes the left ones, and nothing more: `values` behind them stays as it is. The kernel is kernels/partition.hpp.

#include "../predicate.hpp"
#include "../problem.hpp"

#include <tessera/kernels/partition.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct Compact {
  static constexpr VariantInfo info{.name = "compact",
                                    .level = Level::device,
                                    .summary = "stream compaction in a single pass: writes the left part alone"};
  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
        : kernel_(exec, length(input), LessThanPivot<T>(input.parameters.pivot), input.parameters.tile,
                  input.parameters.team, "tessera::partition::compact"),
          work_(work_of(exec, input)) {}

    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) {
      kernel_(exec, input.in, output.values, Kokkos::subview(output.left_count, 0));
    }
    [[nodiscard]] std::vector<WrittenField> outputs() const {
      return {{.field = "values", .count_field = "left_count"}, {.field = "left_count"}};
    }
    [[nodiscard]] Work work() const { return work_; }
    [[nodiscard]] std::string note() const { return kernel_.note(); }

    // n elements read, the left ones written: they are counted here, outside of what is timed.
    [[nodiscard]] static Work work_of(Exec const& exec, InputOn<Partition, Exec, T> const& input) {
      LessThanPivot<T> const is_left(input.parameters.pivot);
      auto const in = input.in;
      std::int64_t lefts = 0;
      Kokkos::parallel_reduce(
          "tessera::partition::compact::work", Kokkos::RangePolicy<Exec>(exec, 0, in.extent(0)),
          KOKKOS_LAMBDA(std::size_t i, std::int64_t& sum) { sum += is_left(in(i)) ? 1 : 0; }, lefts);
      auto const n = static_cast<double>(in.extent(0));
      return {.bytes = (n + static_cast<double>(lefts)) * sizeof(T) + sizeof(std::int64_t), .flops = n};
    }

   private:
    [[nodiscard]] static std::size_t length(InputOn<Partition, Exec, T> const& input) {
      std::size_t const n = input.in.extent(0);
      std::size_t const segments = input.parameters.segments(n);
      if (segments != 1) {
        throw Skip(std::to_string(segments) + " segments (the left part of one alone is compacted)");
      }
      return n;
    }

    kernels::LookBackCompaction<Exec, T, LessThanPivot<T>> kernel_;
    Work work_;
  };
};

VariantRows compact() { return rows<Partition, Compact>(); }

}  // namespace tessera::partition
