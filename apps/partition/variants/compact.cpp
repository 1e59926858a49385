/// \file
/// Stream compaction: only the left elements are kept. A single pass with decoupled look-back, which reads n elements,
/// writes the left ones, and nothing more: `values` behind them stays as it is.

#include "../single_pass.hpp"

#include <limits>
#include <variant>

#include <tessera/table/make_app.hpp>

namespace tessera::partition {

namespace {

template <class T>
struct CountLefts {
  LessThanPivot<T> is_left;
  T const* in;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::int64_t& lefts) const { lefts += is_left(in[i]) ? 1 : 0; }
};

}  // namespace

struct Compact {
  static constexpr VariantInfo info{.name = "compact",
                                    .level = Level::device,
                                    .summary = "stream compaction in a single pass: writes the left part alone"};
  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
        : pass_(chosen(exec, input)), work_(work_of(exec, input)) {}

    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) {
      LessThanPivot<T> const is_left(input.parameters.pivot);
      std::visit(
          [&](auto& pass) { pass(exec, is_left, input.in.data(), output.values.data(), output.left_count.data()); },
          pass_);
    }
    [[nodiscard]] std::vector<WrittenField> outputs() const {
      return {{.field = "values", .count_field = "left_count"}, {.field = "left_count"}};
    }
    [[nodiscard]] Work work() const { return work_; }
    [[nodiscard]] std::string note() const {
      return std::visit([](auto const& pass) { return pass.note(); }, pass_);
    }

   private:
    using Narrow = SinglePass<Exec, T, std::uint32_t, false>;
    using Wide = SinglePass<Exec, T, std::uint64_t, false>;
    using Pass = std::variant<Narrow, Wide>;

    [[nodiscard]] static Pass chosen(Exec const& exec, InputOn<Partition, Exec, T> const& input) {
      std::size_t const n = input.in.extent(0);
      Partition::Parameters const& parameters = input.parameters;
      if (parameters.segments(n) != 1) {
        throw Skip(std::to_string(parameters.segments(n)) + " segments (the left part of one alone is compacted)");
      }
      constexpr char const* label = "tessera::partition::compact";
      if (n > std::numeric_limits<std::uint32_t>::max())
        return Pass(std::in_place_type<Wide>, label, exec, n, parameters);
      return Pass(std::in_place_type<Narrow>, label, exec, n, parameters);
    }

    // n elements read, the left ones written: they are counted here, outside of what is timed.
    [[nodiscard]] static Work work_of(Exec const& exec, InputOn<Partition, Exec, T> const& input) {
      auto const n = static_cast<double>(input.in.extent(0));
      double const moved = n + static_cast<double>(count_lefts(exec, input));
      return {.bytes = moved * sizeof(T) + sizeof(std::int64_t), .flops = n};
    }

    [[nodiscard]] static std::int64_t count_lefts(Exec const& exec, InputOn<Partition, Exec, T> const& input) {
      std::int64_t lefts = 0;
      Kokkos::parallel_reduce("tessera::partition::compact::work",
                              Kokkos::RangePolicy<Exec>(exec, 0, input.in.extent(0)),
                              CountLefts<T>{LessThanPivot<T>(input.parameters.pivot), input.in.data()}, lefts);
      return lefts;
    }

    Pass pass_;
    Work work_;
  };
};

VariantRows compact() { return rows<Partition, Compact>(); }

}  // namespace tessera::partition
