/// \file
/// A single pass over the data with decoupled look-back, and a launch that moves the right elements behind the left
/// ones: 2n traffic where all are left, 4n where all are right.

#include "../single_pass.hpp"

#include <limits>
#include <variant>

#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct LookBack {
  static constexpr VariantInfo info{.name = "look_back",
                                    .level = Level::device,
                                    .summary = "single pass: tiles ask their predecessors; then right ones are moved"};
  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input) : pass_(chosen(exec, input)) {}

    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) {
      if (output.left_count.extent(0) == 0) return;
      LessThanPivot<T> const is_left(input.parameters.pivot);
      std::visit(
          [&](auto& pass) { pass(exec, is_left, input.in.data(), output.values.data(), output.left_count.data()); },
          pass_);
    }
    [[nodiscard]] std::string note() const {
      return std::visit([](auto const& pass) { return pass.note(); }, pass_);
    }

   private:
    using Narrow = SinglePass<Exec, T, std::uint32_t, true>;
    using Wide = SinglePass<Exec, T, std::uint64_t, true>;
    using Pass = std::variant<Narrow, Wide>;

    [[nodiscard]] static Pass chosen(Exec const& exec, InputOn<Partition, Exec, T> const& input) {
      std::size_t const n = input.in.extent(0);
      Partition::Parameters const& parameters = input.parameters;
      if (!parameters.is_one_segment(n)) {
        throw Skip("segments of " + std::to_string(parameters.segment) + " (the whole array is partitioned at once)");
      }
      constexpr char const* label = "tessera::partition::look_back";
      if (n > std::numeric_limits<std::uint32_t>::max())
        return Pass(std::in_place_type<Wide>, label, exec, n, parameters);
      return Pass(std::in_place_type<Narrow>, label, exec, n, parameters);
    }

    Pass pass_;
  };
};

VariantRows look_back() { return rows<Partition, LookBack>(); }

}  // namespace tessera::partition
