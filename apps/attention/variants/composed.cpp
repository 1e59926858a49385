/// \file
/// The formula, step by step, with the kernels of other mini-apps: transpose k, multiply, softmax of the rows in place,
/// multiply. There are two temporaries: the transposed keys, and the scores, which pass through memory four times.

#include <type_traits>

#include "../problem.hpp"
#include "../scaled_product.hpp"
#include "../scores.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/softmax.hpp>
#include <tessera/kernels/transpose.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

struct Composed {
  static constexpr VariantInfo info{
      .name = "composed",
      .level = Level::device,
      .summary = "transpose, product, softmax of rows, product: the other mini-apps' kernels"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input)
        : turn_(exec, input.k.extent(0), input.k.extent(1), team_of(input), "tessera::attention::composed::transpose"),
          to_scores_(exec, input.q.extent(0), input.k.extent(0), input.q.extent(1), team_of(input),
                     "tessera::attention::composed::scores"),
          softmax_(exec, input.q.extent(0), input.k.extent(0), input.parameters.team,
                   "tessera::attention::composed::softmax"),
          to_output_(exec, input.q.extent(0), input.q.extent(1), input.k.extent(0), team_of(input),
                     "tessera::attention::composed::output"),
          scores_(allocate_scores<Exec, T>(input)),
          turned_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::attention::turned"), input.k.extent(1),
                  input.k.extent(0)) {}

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      turn_(exec, input.k, turned_);
      to_scores_(exec, input.q, turned_, scores_, {.load = {static_cast<T>(input.parameters.scale)}, .store = {}});
      softmax_(exec, scores_, scores_);
      to_output_(exec, scores_, input.v, output.out);
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
    Scores<Exec, T> scores_;
    Scores<Exec, T> turned_;
  };
};

VariantRows composed() { return rows<Attention, Composed>(); }

}  // namespace tessera::attention
