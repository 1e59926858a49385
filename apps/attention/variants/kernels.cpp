/// \file
/// KokkosBlas::gemm of Kokkos Kernels for both products, with this suite's row softmax in between, because Kokkos
/// Kernels has none. The note says whether the vendor's BLAS or Kokkos Kernels' own kernel multiplies.

#include "../scores.hpp"

#include <tessera/kernels/softmax.hpp>

#include <tessera/table/kokkos_blas.hpp>

namespace tessera::attention {

struct Kernels {
  static constexpr VariantInfo info{
      .name = "kernels", .level = Level::library, .summary = "KokkosBlas::gemm, softmax of rows, KokkosBlas::gemm"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input)
        : softmax_(exec, input.q.extent(0), input.k.extent(0), input.parameters.team,
                   "tessera::attention::kernels::softmax") {
      needs_int_extents({input.q.extent(0), input.q.extent(1), input.k.extent(0)});
      scores_ = allocate_scores<Exec, T>(input);
      steps_ = softmax_.rounding_steps() + 8 + static_cast<double>(input.k.extent(0));
    }

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      if (input.k.extent(0) == 0) {
        // Without keys gemm would scale the output by 0, outside this instance's queue; and 0 * NaN is NaN.
        Kokkos::deep_copy(exec, output.out, T(0));
        return;
      }
      if (input.q.extent(0) == 0 || input.q.extent(1) == 0) return;
      KokkosBlas::gemm(exec, "N", "T", static_cast<T>(input.parameters.scale), input.q, input.k, T(0), scores_);
      softmax_(exec, scores_, scores_);
      KokkosBlas::gemm(exec, "N", "N", T(1), scores_, input.v, T(0), output.out);
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

    [[nodiscard]] std::string note() const { return whose_gemm<Exec, T>(); }

   private:
    kernels::RowSoftmax<Exec, T> softmax_;
    Scores<Exec, T> scores_;
    double steps_ = 0;
  };
};

VariantRows kernels() { return rows<Attention, Kernels>(); }

}  // namespace tessera::attention
