/// \file
/// Chains of multiply-adds in registers with almost no memory traffic, so the arithmetic units are the limit. A chain
/// counts its own iterations, so its result shows whether all of them ran.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::roofline {

struct MultiplyAdd {
  static constexpr VariantInfo info{.name = "multiply_add",
                                    .level = Level::range,
                                    .summary = "chains of multiply-adds in registers: the peak of the dtype"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Roofline, Exec, T> const& input)
        : count_(static_cast<std::int32_t>(std::min<std::size_t>(input.a.extent(0), measure::most_chains))),
          iterations_(static_cast<std::int32_t>(input.parameters.iterations)) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& input,
                    OutputOn<Roofline, Exec, T> const& output) const {
      (void)input;
      measure::chains(exec, output.chains, iterations_);
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "chains"}}; }
    [[nodiscard]] Work work() const {
      return {.bytes = static_cast<double>(count_) * sizeof(T), .flops = 2.0 * count_ * iterations_};
    }
    /// Returns a warning if there are so few chains that units are idle: the result is then no peak.
    [[nodiscard]] std::string note() const {
      return std::to_string(count_) + " chains" + (count_ < measure::most_chains ? ": too few to fill a machine" : "");
    }

   private:
    std::int32_t count_;
    std::int32_t iterations_;
  };
};

VariantRows multiply_add() { return rows<Roofline, MultiplyAdd>(); }

}  // namespace tessera::roofline
