/// \file
/// For few queries and long sequences: the keys are cut into as many chunks as keep the machine busy, different teams
/// take different chunks, and a second launch merges each query's partial results. The kernel is
/// kernels/key_stream_attention.hpp.

#include "../problem.hpp"

#include <tessera/kernels/key_stream_attention.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

struct SplitSequence {
  static constexpr VariantInfo info{.name = "split_sequence",
                                    .level = Level::device,
                                    .summary = "chunks of the keys in parallel, their results merged"};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan : kernels::KeyStreamAttention<Exec, T> {
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input)
        : Plan::KeyStreamAttention(exec, input.q.extent(0), input.k.extent(0), input.q.extent(1),
                                   input.parameters.chunks, input.parameters.team,
                                   "tessera::attention::split_sequence") {}

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      Plan::KeyStreamAttention::operator()(exec, input.q, input.k, input.v, output.out,
                                           static_cast<T>(input.parameters.scale));
    }

    [[nodiscard]] std::string note() const {
      return std::to_string(this->pieces()) + (this->pieces() == 1 ? " chunk" : " chunks");
    }
  };
};

VariantRows split_sequence() { return rows<Attention, SplitSequence>(); }

}  // namespace tessera::attention
