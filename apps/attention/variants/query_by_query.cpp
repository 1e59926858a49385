/// \file
/// composed for one query at a time, as in the book: the keys are transposed once, then each query goes through
/// product, softmax and product with the same row of scores. So n scores are stored instead of B n, but each query
/// reads all keys and values again and pays for its own launches.

#include "../composed_plan.hpp"

namespace tessera::attention {

struct QueryByQuery {
  static constexpr VariantInfo info{.name = "query_by_query",
                                    .level = Level::device,
                                    .summary = "composed, one query after the other, all with the same row of scores"};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan : ComposedPlan<Exec, T> {
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input)
        : Plan::ComposedPlan(
              exec, input, 1, "tessera::attention::query_by_query",
              Scores<Exec, T>(unset("tessera::attention::scores"), 1, input.q.size() == 0 ? 0 : input.k.extent(0))) {}

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      if (output.out.size() == 0) return;  // also for 2^50 queries without columns
      this->transpose_keys(exec, input);
      for (std::size_t b = 0; b < input.q.extent(0); ++b) {
        auto const row = Kokkos::make_pair(b, b + 1);
        this->attend(exec, input, Kokkos::subview(input.q, row, Kokkos::ALL),
                     Kokkos::subview(output.out, row, Kokkos::ALL));
      }
    }
  };
};

VariantRows query_by_query() { return rows<Attention, QueryByQuery>(); }

}  // namespace tessera::attention
