/// \file
/// A tile of queries goes through all keys once, and no score is stored: memory is inputs plus outputs. Each team goes
/// through all keys, so few queries leave most of a machine idle; use split_sequence for few queries. The kernel is
/// kernels/query_tile_attention.hpp.

#include "../problem.hpp"

#include <tessera/kernels/query_tile_attention.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

struct FusedOnline {
  static constexpr VariantInfo info{
      .name = "fused_online",
      .level = Level::lane,
      .summary = "tiles of queries in registers, keys streamed once, no scores in memory"};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan : kernels::QueryTileAttention<Exec, T> {
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input)
        : Plan::QueryTileAttention(exec, input.q.extent(0), input.k.extent(0), input.q.extent(1), input.parameters.team,
                                   "tessera::attention::fused_online") {}

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      Plan::QueryTileAttention::operator()(exec, input.q, input.k, input.v, output.out,
                                           static_cast<T>(input.parameters.scale));
    }
  };
};

VariantRows fused_online() { return rows<Attention, FusedOnline>(); }

}  // namespace tessera::attention
