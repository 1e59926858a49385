/// \file
/// The extremes of the whole array in two launches: teams fold their chunks, then every team folds the teams' results,
/// which a cache holds, and writes its part of the output.

#include <optional>
#include <string>

#include "../butterfly_rules.hpp"
#include "../fold_broadcast.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

struct ReduceBroadcast {
  static constexpr VariantInfo info{.name = "reduce_broadcast",
                                    .level = Level::device,
                                    .summary = "the whole array is one segment: reduce, then every team writes"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Butterfly, Exec, T> const& input) {
      std::size_t const n = input.in.extent(0);
      Butterfly::Parameters const& parameters = input.parameters;
      if (parameters.op == ButterflyOp::pair_swap) {
        throw Skip("op pair_swap (pairs have nothing to reduce); use --variant lanes or pack_swap");
      }
      if (parameters.segment != 0) {
        throw Skip("segment " + std::to_string(parameters.segment) +
                   " (this reduces whole arrays: --segment 0); use --variant lanes or scratch");
      }
      if (parameters.op == ButterflyOp::max) {
        max_.emplace(exec, n, parameters.team, label);
      } else {
        minmax_.emplace(exec, n, parameters.team, label);
      }
    }

    void operator()(Exec const& exec, InputOn<Butterfly, Exec, T> const& input,
                    OutputOn<Butterfly, Exec, T> const& output) const {
      if (max_) {
        (*max_)(exec, input.in, output.out);
      } else {
        (*minmax_)(exec, input.in, output.out);
      }
    }

   private:
    static constexpr char const* label = "tessera::butterfly::reduce_broadcast";

    std::optional<FoldBroadcast<Exec, MaxRule<T>>> max_;
    std::optional<FoldBroadcast<Exec, MinMaxRule<T>>> minmax_;
  };
};

VariantRows reduce_broadcast() { return rows<Butterfly, ReduceBroadcast>(); }

}  // namespace tessera::butterfly
