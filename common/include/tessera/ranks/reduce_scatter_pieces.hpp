#pragma once
/// \file
/// Every rank knows something of all queries, from its own keys: pieces (kernels/attention_pieces.hpp). Each gets the answers to
/// its own queries: a reduce-scatter that merges where others add. A rank makes one piece of its own, gives it to the rank that
/// has the query (RowsToOwners), and an owner merges in the order of the ranks, so that bits do not depend on who is first.
///
/// Example, two ranks, one query, a key with score 0 on the first, one with ln 3 on the second: pieces {0, 1, v_0} and
/// {ln 3, 1, v_1}; the first rank, which has the query, gets both and writes (v_0 + 3 v_1) / 4.

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/attention_pieces.hpp>
#include <tessera/kernels/merge_attention.hpp>
#include <tessera/ranks/rows_to_owners.hpp>

namespace tessera::ranks {

/// Constructed once: allocates `count` pieces and one of all queries, and one a rank of the rank's block of them. All ranks call
/// it; dim + 2 numbers a query go to its owner from each other rank.
template <ExecutionSpace Exec, class T>
class ReduceScatterPieces {
  using Pieces = kernels::AttentionPieces<Exec, T>;

 public:
  /// \param queries of all ranks together, in blocks; \param dim columns of an answer; \param count pieces that a rank makes
  /// \param team threads of a team; 0: choose
  ///
  /// Throws Skip for more pieces, or ranks, than kernels::MergePieces takes.
  ReduceScatterPieces(Exec const& exec, Ranks const& ranks, std::size_t queries, std::size_t dim, int count,
                      std::int64_t team, std::string const& label)
      : own_(queries, dim, count, label + "::own"),
        to_one_(exec, queries, dim, count, team, label + "::one"),
        one_(queries, dim, 1, label + "::one"),
        of_ranks_(ranks.block(queries).size(), dim, ranks.count(), label + "::of_ranks"),
        to_owners_(exec, ranks, queries,
                   {{one_.means.data(), of_ranks_.means.data(), dim},
                    {one_.largest.data(), of_ranks_.largest.data(), 1},
                    {one_.total.data(), of_ranks_.total.data(), 1}},
                   label),
        to_answer_(exec, of_ranks_.queries, dim, ranks.count(), team, label + "::merge") {}

  /// Where a rank puts its pieces of all queries before a call.
  [[nodiscard]] Pieces const& own() const { return own_; }

  /// `out` [own queries, dim]. What `exec` was given before is done first; the merge is enqueued.
  template <class Out>
  void operator()(Exec const& exec, Out const& out) {
    to_one_.to_one(exec, own_, one_);
    to_owners_(exec);
    to_answer_.answer(exec, of_ranks_, out);
  }

  /// Of a rank's pieces to one, and those of the ranks to an answer.
  [[nodiscard]] double rounding_steps() const { return to_one_.rounding_steps() + to_answer_.rounding_steps(); }

 private:
  Pieces own_;
  kernels::MergePieces<Exec, T> to_one_;
  Pieces one_;
  Pieces of_ranks_;  // a piece a rank, of the rank's queries
  RowsToOwners<Exec, T> to_owners_;
  kernels::MergePieces<Exec, T> to_answer_;
};

}  // namespace tessera::ranks
