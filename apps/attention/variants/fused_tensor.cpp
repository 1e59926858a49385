/// \file
/// On matrix units (tensor cores), with factors rounded to bfloat16: 8 significant bits. The fastest answer to many queries, and the
/// least exact. The kernels are tensor_attention.hpp.

#include "../problem.hpp"
#include "../tensor_attention.hpp"

#include <concepts>
#include <cstddef>
#include <string>

#include <tessera/core/types.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

struct FusedTensor {
  static constexpr VariantInfo info{
      .name = "fused_tensor",
      .level = Level::lane,
      .summary = "matrix units, factors rounded to bfloat16 (8 bits), softmax in registers between the products",
      .unit = Unit::bfloat16};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<T, float>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input)
        : query_count_(input.q.extent(0)), key_count_(input.k.extent(0)), dim_(input.q.extent(1)) {
      collective::require_matrix_units(exec);
      if (dim_ > most_columns) {
        throw Skip("d = " + std::to_string(dim_) + " (registers hold at most " + std::to_string(most_columns) +
                   " columns)");
      }
      if (!ScoreFactor::takes(input.parameters.scale)) {
        throw Skip("a scale of 2^-20 to 2^20, or 0 (scores might leave float's range)");
      }
      if (outside(exec, input.q) + outside(exec, input.k) + outside(exec, input.v) > 0) {
        throw Skip("elements of 2^-40 to 2^40, or 0 (scores might leave float's range)");
      }
      choose([&]<class Shape>() { plan<Shape>(input.parameters.team); });
    }

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      if (query_count_ == 0 || dim_ == 0) return;
      if (key_count_ == 0) {
        Kokkos::deep_copy(exec, output.out, T(0));
        return;
      }
      choose([&]<class Shape>() { enqueue<Shape>(exec, input, output); });
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }
    [[nodiscard]] ReducedPrecision reduced_precision() const { return reduced_; }

    // Public because a device kernel may not be launched from a private function.
    template <class Shape>
    void enqueue([[maybe_unused]] Exec const& exec, [[maybe_unused]] InputOn<Attention, Exec, T> const& input,
                 [[maybe_unused]] OutputOn<Attention, Exec, T> const& output) const {
      if constexpr (is_gpu<Exec> && collective::can_have_matrix_units<Exec>) {
        using Kernel =
            TensorAttention<Exec, lane::On<Exec, Shape::Unit::lanes>, Shape, collective::HardwareCopiesPastL1>;
        auto const [sign, factor] = ScoreFactor::of(input.parameters.scale);
        Kokkos::parallel_for(
            "tessera::attention::fused_tensor::pack",
            Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, pieces_.extent(0)),
            PackFactors<typename Exec::memory_space, Shape>{input.q, input.k, input.v, sign, query_pieces_,
                                                            pieces_.data(), pieces_.data() + query_pieces_});
        typename Kernel::Policy const policy(exec, league_, Shape::threads, Shape::Unit::lanes);
        Kokkos::parallel_for("tessera::attention::fused_tensor::attend", with_scratch(policy, Kernel::scratch_bytes()),
                             Kernel{pieces_.data(), pieces_.data() + query_pieces_, output.out.data(), query_count_,
                                    key_count_, static_cast<int>(dim_), factor, 1 / factor,
                                    dim_ % 4 == 0 && collective::is_aligned_for_packs<4>(output.out.data())});
      }
    }

   private:
    static constexpr std::size_t most_columns = 128;

    /// Calls body.operator()<Shape>() with the shape for rows of this length. Sums of 32 queries and 64 columns are 64 registers of a
    /// lane, of 16 queries and 128 as many.
    template <class Body>
    void choose(Body const& body) const {
      if (dim_ <= 16) return body.template operator()<TensorAttentionShape<16, 4, 2, 2, 2, 4>>();
      if (dim_ <= 32) return body.template operator()<TensorAttentionShape<32, 4, 2, 2, 2, 4>>();
      if (dim_ <= 64) return body.template operator()<TensorAttentionShape<64, 4, 2, 2, 2, 2>>();
      if (dim_ <= 96) return body.template operator()<TensorAttentionShape<96, 8, 1, 1, 2, 3>>();
      body.template operator()<TensorAttentionShape<128, 8, 1, 1, 2, 2>>();
    }

    template <class Shape>
    void plan(std::int64_t team) {
      if (team != 0 && team != Shape::threads) {
        throw Skip("a team of " + std::to_string(team) + " threads (a tile of queries is cut for " +
                   std::to_string(Shape::threads) + ")");
      }
      steps_ = Shape::rounding_steps(key_count_);
      reduced_ = Shape::reduced_precision();
      league_ = league_of(tiles_of(query_count_, Shape::queries));
      query_pieces_ =
          static_cast<std::size_t>(league_) * Shape::queries / Shape::edge * Shape::blocks * Shape::Unit::lanes;
      std::size_t const pieces = query_pieces_ + tiles_of(key_count_, Shape::keys) * Shape::pieces_of_tile;
      pieces_ =
          Pieces(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::attention::fused_tensor::pieces"), pieces);
    }

    template <class Matrix>
    [[nodiscard]] static std::size_t outside(Exec const& exec, Matrix const& matrix) {
      std::size_t count = 0;
      Kokkos::parallel_reduce("tessera::attention::fused_tensor::outside",
                              Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>(exec, 0, matrix.size()),
                              OutsideOfUnit<Matrix>{matrix}, count);
      return count;
    }

    using Pieces = Kokkos::View<BlockPiece*, typename Exec::memory_space>;

    std::size_t query_count_;
    std::size_t key_count_;
    std::size_t dim_;
    std::size_t query_pieces_ = 0;
    int league_ = 0;
    double steps_ = 1;
    ReducedPrecision reduced_;
    Pieces pieces_;
  };
};

VariantRows fused_tensor() { return rows<Attention, FusedTensor>(); }

}  // namespace tessera::attention
