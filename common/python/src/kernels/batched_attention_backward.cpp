#include <tessera/kernels/multi_head_attention_backward.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void batched_attention_backward(AttentionForward const& of, Batch const& batch, Array const& grad, Array const& dquery,
                                Array const& dkey, Array const& dvalue) {
  with_type_of(of.query, Floats{}, [&]<class T>() {
    on_space_of(of.query, [&]<class Exec>(Exec const& exec) {
      using Backward = kernels::MultiHeadAttentionBackward<Exec, T>;
      auto const rows = [](Array const& array) { return view_of<T const**, Exec>(array); };
      kernels::Heads const shape{
          .sequences = batch.sequences, .tokens = batch.tokens, .heads = 1, .dim = batch.dim, .causal = batch.causal};
      auto& backward = kept_from<Backward>(exec, {batch.sequences, batch.tokens, batch.dim, batch.causal},
                                           [&] { return std::make_shared<Backward>(exec, shape); });
      backward(exec, rows(of.query), rows(of.key), rows(of.value), rows(of.out), rows(grad), view_of<T**, Exec>(dquery),
               view_of<T**, Exec>(dkey), view_of<T**, Exec>(dvalue), static_cast<T>(batch.scale));
    });
  });
}

}  // namespace tessera::python
