#pragma once
/// \file
/// Merges pieces of attention (attention_pieces.hpp) that several launches or ranks have computed, into the answer or
/// into one piece. Uses the kernel with which key_stream_attention.hpp merges its own pieces.
///
/// Example, one query, pieces {0, 1, v_0} and {ln 3, 1, v_1}: the answer is (v_0 + 3 v_1) / 4; the single piece is {ln
/// 3, 4/3, (v_0 + 3 v_1) / 4}.
///
/// Use:  MergePieces<Exec, float> merge(exec, queries, dim, count);  merge.answer(exec, pieces, out);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/attention/attention_pieces.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/key_stream_attention.hpp>

namespace tessera::kernels {

/// Construct it once. A call only enqueues. Calls share no memory and may run concurrently.
template <ExecutionSpace Exec, class T, class Tuning = KeyStreamTuning<Exec, T>>
class MergePieces {
  using Kernel = detail::MergeAttention<Exec, T, Tuning>;

 public:
  static constexpr int most_pieces = Kernel::most_pieces;

  /// \param count number of pieces; throws Skip if it is above most_pieces
  /// \param team threads per team; 0: choose
  MergePieces(Exec const& exec, std::size_t queries, std::size_t dim, int count, std::int64_t team = 0,
              std::string const& label = "tessera::attention::merge")
      : label_(label), queries_(queries), team_(team), task_(detail::attention_task<T>(queries, 0, dim)) {
    if (count > most_pieces) throw Skip(std::to_string(count) + " pieces of a query (scratch has room for 2048)");
    task_.chunks.count = count;
    task_.keeps_pieces = true;
    steps_ = Kernel(exec, task_, team_).rounding_steps();
  }

  /// Enqueues the merge of all pieces, in their order, into the answers to all queries: out [queries, dim]. Throws
  /// std::invalid_argument for other extents or strides, or if `out` is in the pieces' memory.
  template <Writable<Exec, T, 2> Out>
  void answer(Exec const& exec, AttentionPieces<Exec, T> const& pieces, Out const& out) const {
    require_apart(out, pieces.means, pieces.largest, pieces.total);
    auto task = pieces.as_pieces_of(task_, 0);
    task.out = row_major(out, queries_, task.dim);
    Kernel::enqueue(label_, exec, task, team_);
  }
  /// Enqueues the merge of `pieces` into the only piece of `one`, which must be another object.
  void to_one(Exec const& exec, AttentionPieces<Exec, T> const& pieces, AttentionPieces<Exec, T> const& one) const {
    require_apart(one.means, pieces.means);
    auto task = pieces.as_pieces_of(task_, 0);
    task.out = one.means.data();
    Kernel::enqueue(label_, exec, task, team_, one.largest.data(), one.total.data());
  }

  [[nodiscard]] double rounding_steps() const { return steps_; }

 private:
  std::string label_;
  std::size_t queries_;
  std::int64_t team_;
  detail::AttentionTask<T> task_;
  double steps_ = 0;
};

}  // namespace tessera::kernels
