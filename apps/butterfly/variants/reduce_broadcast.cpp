/// \file
/// The extremes of the whole array in two launches: teams fold their chunks, then every team folds the teams' results,
/// which a cache holds, and writes its part of the output.

#include <string>
#include <variant>

#include "../butterfly_rules.hpp"
#include "../fold_broadcast.hpp"

namespace tessera::butterfly {

struct ReduceBroadcast {
  static constexpr VariantInfo info{.name = "reduce_broadcast",
                                    .level = Level::device,
                                    .summary = "the whole array is one segment: reduce, then every team writes"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Butterfly, Exec, T> const& input)
        : fold_(chosen(exec, input.in.extent(0), input.parameters)) {}

    void operator()(Exec const& exec, InputOn<Butterfly, Exec, T> const& input,
                    OutputOn<Butterfly, Exec, T> const& output) const {
      std::visit([&](auto const& fold) { fold(exec, input.in, output.out); }, fold_);
    }

   private:
    using Max = FoldBroadcast<Exec, MaxRule<T>>;
    using MinMax = FoldBroadcast<Exec, MinMaxRule<T>>;

    [[nodiscard]] static std::variant<Max, MinMax> chosen(Exec const& exec, std::size_t n,
                                                          Parameters const& parameters) {
      if (parameters.op == ButterflyOp::pair_swap) {
        throw Skip("op pair_swap (pairs have nothing to reduce); use --variant lanes or pack_swap");
      }
      if (parameters.segment != 0) {
        throw Skip("segment " + std::to_string(parameters.segment) +
                   " (this reduces whole arrays: --segment 0); use --variant lanes or scratch");
      }
      char const* const label = "tessera::butterfly::reduce_broadcast";
      if (parameters.op == ButterflyOp::max) return Max(exec, n, parameters.team, label);
      return MinMax(exec, n, parameters.team, label);
    }

    std::variant<Max, MinMax> fold_;
  };
};

VariantRows reduce_broadcast() { return rows<Butterfly, ReduceBroadcast>(); }

}  // namespace tessera::butterfly
