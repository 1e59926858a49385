#pragma once
/// \file
/// Puts pieces of attention together (attention_pieces.hpp) that were made in several launches, or by several ranks: to the
/// answer, or to one piece. The kernel is that of key_stream_attention.hpp, which does so with its own.
///
/// Example, one query, pieces {0, 1, v_0} and {ln 3, 1, v_1}: the answer (v_0 + 3 v_1) / 4; one piece {ln 3, 4/3, v_0 / 3 +
/// v_1}.
///
/// Use:  MergePieces<Exec, float> merge(exec, queries, dim, count);  merge.answer(exec, pieces, out);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/attention_pieces.hpp>
#include <tessera/kernels/key_stream_attention.hpp>
#include <tessera/kernels/views.hpp>

namespace tessera::kernels {

/// Constructed once; calls only enqueue, and may overlap: there is no memory of its own.
template <ExecutionSpace Exec, class T, class Tuning = KeyStreamTuning<Exec, T>>
class MergePieces {
  using Kernel = detail::MergeAttention<Exec, T, Tuning>;

 public:
  static constexpr int most_pieces = Kernel::most_pieces;

  /// \param count of the pieces; more than most_pieces: throws Skip. \param team threads of a team; 0: choose
  MergePieces(Exec const& exec, std::size_t queries, std::size_t dim, int count, std::int64_t team = 0,
              std::string const& label = "tessera::attention::merge")
      : label_(label), queries_(queries), team_(team), task_(detail::attention_task<T>(queries, 0, dim)) {
    if (count > most_pieces) throw Skip(std::to_string(count) + " pieces of a query (scratch has room for 2048)");
    task_.chunks = count;
    task_.keeps_pieces = true;
    steps_ = Kernel(exec, task_, team_).rounding_steps();
  }

  /// Enqueues out [queries, dim] = the answers to all queries, from all pieces in their order.
  template <Writable<Exec, T, 2> Out>
  void answer(Exec const& exec, AttentionPieces<Exec, T> const& pieces, Out const& out) const {
    auto task = pieces.as_pieces_of(task_, 0);
    task.out = row_major(out, queries_, static_cast<std::size_t>(task.dim));
    Kernel::enqueue(label_, exec, task, team_);
  }
  /// Enqueues that the only piece of `one` is all of `pieces`, which are others.
  void to_one(Exec const& exec, AttentionPieces<Exec, T> const& pieces, AttentionPieces<Exec, T> const& one) const {
    auto task = pieces.as_pieces_of(task_, 0);
    task.out = one.sums.data();
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
