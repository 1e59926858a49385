/// \file
/// Chains of multiply-adds in registers with almost no memory traffic, so the arithmetic units are the limit. A chain
/// counts its own iterations, so its result shows whether all of them ran.

#include "../chains.hpp"

namespace tessera::roofline {

struct MultiplyAdd {
  static constexpr VariantInfo info{.name = "multiply_add",
                                    .level = Level::range,
                                    .summary = "chains of multiply-adds in registers: the peak of the dtype"};

  template <ExecutionSpace Exec, class T>
  struct Plan : Chains {
    Plan(Exec const&, InputOn<Roofline, Exec, T> const& input)
        : Chains(input.a.extent(0), input.parameters.iterations, sizeof(T), 2) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const&,
                    OutputOn<Roofline, Exec, T> const& output) const {
      measure::chains(exec, output.chains, iterations_);
    }

    /// Returns a warning if there are so few chains that units are idle: the result is then no peak.
    [[nodiscard]] std::string note() const {
      return std::to_string(count_) + " chains" + (count_ < measure::most_chains ? ": too few to fill a machine" : "");
    }
  };
};

VariantRows multiply_add() { return rows<Roofline, MultiplyAdd>(); }

}  // namespace tessera::roofline
