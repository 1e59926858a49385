#pragma once
/// \file
/// A reduce-scatter that merges attention pieces (kernels/detail/attention) instead of adding. Every rank has
/// partial results of all queries, computed from its own keys; each rank gets the answers to its own queries. A rank
/// merges its pieces into one, and sends it to the rank that owns the query (RowsToOwners). The owner merges in the
/// order of the ranks, so that the bits do not depend on the order of arrival.
///
/// Example, two ranks, one query, a key with score 0 on the first rank, and one with score ln 3 on the second: pieces
/// {0, 1, v_0} and {ln 3, 1, v_1}. The first rank owns the query, gets both pieces and writes (v_0 + 3 v_1) / 4.

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/attention/attention_pieces.hpp>
#include <tessera/kernels/merge_attention.hpp>
#include <tessera/ranks/rows_to_owners.hpp>

namespace tessera::ranks {

/// The constructor allocates `count` pieces and one merged piece of all queries, and one piece per rank for the rank's
/// block of queries. Must be constructed and called by all ranks. Each other rank sends dim + 2 numbers per query to
/// the query's owner.
template <ExecutionSpace Exec, class T>
class ReduceScatterPieces {
  using Pieces = kernels::AttentionPieces<Exec, T>;

 public:
  /// \param queries of all ranks together, in blocks
  /// \param dim columns of an answer
  /// \param count pieces that a rank makes
  /// \param team threads per team; 0: choose
  ///
  /// Throws Skip if there are more pieces or ranks than kernels::MergePieces supports.
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

  /// Returns where a rank must write its pieces of all queries before a call.
  [[nodiscard]] Pieces const& own() const { return own_; }

  /// `out` is [own queries, dim]. Work that was enqueued on `exec` before the call is completed first. The merge is
  /// enqueued.
  template <class Out>
  void operator()(Exec const& exec, Out const& out) {
    to_one_.to_one(exec, own_, one_);
    to_owners_(exec);
    to_answer_.answer(exec, of_ranks_, out);
  }

  /// Returns the rounding steps of both merges: of a rank's pieces into one, and of the ranks' pieces into an answer.
  [[nodiscard]] double rounding_steps() const { return to_one_.rounding_steps() + to_answer_.rounding_steps(); }

 private:
  Pieces own_;
  kernels::MergePieces<Exec, T> to_one_;
  Pieces one_;
  Pieces of_ranks_;  // one piece per rank, for the rank's queries
  RowsToOwners<Exec, T> to_owners_;
  kernels::MergePieces<Exec, T> to_answer_;
};

}  // namespace tessera::ranks
