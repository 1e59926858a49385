#pragma once
/// \file
/// Multi-head attention on matrix units: several sequences, several heads, causal or not, as in
/// kernels/multi_head_attention.hpp, by the steps of kernels/tensor_attention.hpp. Rows of q, k, v and the result hold
/// the heads one after the other.
///
/// Two launches for all heads: the first one packs each head's q, k and v, the second one computes. If it is causal, a
/// team stops behind the key of its last query, and masks only the blocks that reach beyond a thread's first query.
///
/// Example, one causal head, two tokens, scores of the second query 0 and ln 3: out_0 = v_0, out_1 = (v_0 + 3 v_1) / 4.
///
/// Use:  TensorHeads<Kokkos::Cuda, 1> attend(exec, {.sequences = 8, .tokens = 2048, .heads = 16, .dim = 64});
///       attend(exec, q, k, v, out, scale);

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <utility>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/multi_head_attention.hpp>
#include <tessera/kernels/tensor_attention.hpp>

namespace tessera::kernels {

/// out = softmax(scale * q k^T) v for each head of each sequence.
///
/// The constructor allocates the workspace, 2 `Terms` bytes per element of q, k and v, with the tokens of each sequence
/// padded as TensorAttention pads rows: 144 rows for up to 16 tokens, one term and up to 64 columns. Calls only
/// enqueue: two launches, none without elements. Calls of one object must not run concurrently, because they share the
/// workspace.
///
/// Elements have the range of TensorAttention. If an element of q is infinite or NaN, the results of its token and head
/// may be NaN; of k or v, those of its head for the tokens that see it. No others change. Numbers from 0x1.FFp127 on
/// count as infinite: that is what they are in bfloat16.
///
/// \tparam Terms terms per factor: 1 (bfloat16, 8 bits) or 3 (float accuracy)
template <ExecutionSpace Exec, int Terms, class Tuning = TensorAttentionTuning<Exec, Terms>>
class TensorHeads : public detail::AttentionOnUnits<Exec, Terms, Tuning, detail::Attentions> {
 public:
  /// Throws Skip as TensorAttention does.
  TensorHeads(Exec const& exec, Heads const& heads, std::int64_t team = 0, std::string label = "tessera::tensor_heads")
      : TensorHeads::AttentionOnUnits(exec, heads.tokens, heads.tokens, heads.dim,
                                      {.heads = heads.heads,
                                       .count = heads.sequences * heads.heads,
                                       .tokens = heads.tokens,
                                       .causal = heads.causal},
                                      team, std::move(label)),
        heads_(heads) {}

  /// Enqueues. All matrices are [sequences * tokens, heads * dim], contiguous and row-major; `out` must not overlap the
  /// others. Throws std::invalid_argument for other extents or strides, or if takes(scale) is false.
  template <Readable<Exec, float, 2> Q, Readable<Exec, float, 2> K, Readable<Exec, float, 2> V,
            Writable<Exec, float, 2> Out>
  void operator()(Exec const& exec, Q const& q, K const& k, V const& v, Out const& out, double scale) const {
    require_apart(out, q, k, v);
    float* const to = row_major(out, heads_.rows(), heads_.cols());
    float const* const of_q = row_major(q, heads_.rows(), heads_.cols());
    float const* const of_k = row_major(k, heads_.rows(), heads_.cols());
    float const* const of_v = row_major(v, heads_.rows(), heads_.cols());
    this->enqueue(exec, of_q, of_k, of_v, to, scale);
  }

 private:
  Heads heads_;
};

}  // namespace tessera::kernels
