#include <tessera/kernels/multi_head_attention.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void batched_attention(Array const& query, Array const& key, Array const& value, Batch const& batch, Array const& out) {
  with_type_of(query, Floats{}, [&]<class T>() {
    on_space_of(query, [&]<class Exec>(Exec const& exec) {
      using Heads = kernels::MultiHeadAttention<Exec, T>;
      kernels::Heads const shape{
          .sequences = batch.sequences, .tokens = batch.tokens, .heads = 1, .dim = batch.dim, .causal = batch.causal};
      auto& attend = kept_from<Heads>(exec, {batch.sequences, batch.tokens, batch.dim, batch.causal},
                                      [&] { return std::make_shared<Heads>(exec, shape); });
      attend(exec, view_of<T const**, Exec>(query), view_of<T const**, Exec>(key), view_of<T const**, Exec>(value),
             view_of<T**, Exec>(out), static_cast<T>(batch.scale));
    });
  });
}

}  // namespace tessera::python
