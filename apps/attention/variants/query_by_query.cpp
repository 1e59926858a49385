/// \file
/// composed for one query at a time, as in the book: the keys are transposed once, then each query goes through
/// product, softmax and product with the same row of scores. So n scores are stored instead of B n, but each query
/// reads all keys and values again and pays for its own launches.

#include <type_traits>

#include "../problem.hpp"
#include "../scaled_product.hpp"
#include "../scores.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/softmax.hpp>
#include <tessera/kernels/transpose.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

struct QueryByQuery {
  static constexpr VariantInfo info{.name = "query_by_query",
                                    .level = Level::device,
                                    .summary = "composed, one query after the other, all with the same row of scores"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input)
        : turn_(exec, input.k.extent(0), input.k.extent(1), team_of(input),
                "tessera::attention::query_by_query::transpose"),
          to_scores_(exec, 1, input.k.extent(0), input.q.extent(1), team_of(input),
                     "tessera::attention::query_by_query::scores"),
          softmax_(exec, 1, input.k.extent(0), input.parameters.team, "tessera::attention::query_by_query::softmax"),
          to_output_(exec, 1, input.q.extent(1), input.k.extent(0), team_of(input),
                     "tessera::attention::query_by_query::output"),
          scores_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::attention::scores"), 1,
                  input.q.size() == 0 ? 0 : input.k.extent(0)),
          turned_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::attention::turned"), input.k.extent(1),
                  input.k.extent(0)) {}

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      if (output.out.size() == 0) return;  // also for 2^50 queries without columns
      turn_(exec, input.k, turned_);
      for (std::size_t b = 0; b < input.q.extent(0); ++b) {
        auto const row = Kokkos::make_pair(b, b + 1);
        to_scores_(exec, Kokkos::subview(input.q, row, Kokkos::ALL), turned_, scores_,
                   {.load = {static_cast<T>(input.parameters.scale)}, .store = {}});
        softmax_(exec, scores_, scores_);
        to_output_(exec, scores_, input.v, Kokkos::subview(output.out, row, Kokkos::ALL));
      }
    }

    /// Counts a row's sum, a weight's exponential and quotient, and the product. (The offset holds a score's chain.)
    [[nodiscard]] double rounding_steps() const { return softmax_.rounding_steps() + 8 + to_output_.rounding_steps(); }

   private:
    // On a GPU the tile fixes the number of threads per team.
    [[nodiscard]] static std::int64_t team_of(InputOn<Attention, Exec, T> const& input) {
      return is_gpu<Exec> ? 0 : input.parameters.team;
    }

    kernels::Transpose<Exec, T> turn_;
    kernels::Gemm<Exec, T, ScaledProduct<T>> to_scores_;
    kernels::RowSoftmax<Exec, T> softmax_;
    kernels::Gemm<Exec, T> to_output_;
    Scores<Exec, T> scores_;  // the scores of one query
    Scores<Exec, T> turned_;
  };
};

VariantRows query_by_query() { return rows<Attention, QueryByQuery>(); }

}  // namespace tessera::attention
