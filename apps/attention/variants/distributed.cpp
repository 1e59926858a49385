/// \file
/// On several ranks: each has some queries, and some keys with their values. What is known of a query after some keys is a
/// piece: the largest score, the sum of weights and that of weighted values (kernels/attention_pieces.hpp). Pieces are merged
/// on the device, in the order of the ranks' keys, so that bits do not depend on who is first. Which way takes less is known
/// from the shapes:
///
///   merge  fewer queries than keys: all ranks get all queries, make a piece of each from their own keys, and give the
///          pieces to the rank that has the query. 2 d + 2 numbers a query pass between ranks.
///   ring   else: queries stay where they are, and blocks of keys and values go round, to the rank before. While a rank makes the
///          pieces of one block, the next one is on its way. 2 d numbers a key.
///
/// One rank has nothing to merge: it is the kernel alone.
///
/// Example, two ranks, one query, a key with score 0 on the first, one with ln 3 on the second: pieces {0, 1, v_0} and
/// {ln 3, 1, v_1}; the first rank, which has the query, gets both and writes (v_0 + 3 v_1) / 4.

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "../problem.hpp"

#include <tessera/kernels/attention.hpp>
#include <tessera/kernels/merge_attention.hpp>
#include <tessera/ranks/all_gather_rows.hpp>
#include <tessera/ranks/rotate.hpp>
#include <tessera/ranks/rows_to_owners.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

constexpr char const* distributed_label = "tessera::attention::distributed";

/// All queries are on all ranks, keys stay where they are.
template <ExecutionSpace Exec, class T>
class MergeOverRanks {
  using Pieces = kernels::AttentionPieces<Exec, T>;

 public:
  MergeOverRanks(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Part const& part)
      : MergeOverRanks(exec, input, part.ranks, part.input[0][0], part.input[0][1], distributed_label) {}

  void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                  OutputOn<Attention, Exec, T> const& output) {
    queries_(exec, input.q.data());
    attend_(exec, queries_.all(), input.k, input.v, pieces_, 0, static_cast<T>(input.parameters.scale));
    to_one_.to_one(exec, pieces_, one_);
    to_owners_(exec);
    to_answer_.answer(exec, of_ranks_, output.out);
  }

  /// Of a rank's pieces, theirs to one, those of the ranks.
  [[nodiscard]] double rounding_steps() const {
    return attend_.rounding_steps() + to_one_.rounding_steps() + to_answer_.rounding_steps();
  }
  [[nodiscard]] std::string note() const { return "merge, " + std::to_string(attend_.pieces()) + " pieces a rank"; }

 private:
  MergeOverRanks(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Ranks const& ranks,
                 std::size_t queries, std::size_t dim, std::string const& label)
      : queries_(exec, ranks, queries, dim, label),
        attend_(exec, queries, input.k.extent(0), dim, input.parameters.chunks, input.parameters.team, label, true),
        pieces_(queries, dim, attend_.pieces(), label + "::own"),
        to_one_(exec, queries, dim, attend_.pieces(), input.parameters.team, label + "::one"),
        one_(queries, dim, 1, label + "::one"),
        of_ranks_(input.q.extent(0), dim, ranks.count(), label + "::of_ranks"),
        to_owners_(exec, ranks, queries,
                   {{one_.sums.data(), of_ranks_.sums.data(), dim},
                    {one_.largest.data(), of_ranks_.largest.data(), 1},
                    {one_.total.data(), of_ranks_.total.data(), 1}},
                   label),
        to_answer_(exec, input.q.extent(0), dim, ranks.count(), input.parameters.team, label + "::merge") {}

  ranks::AllGatherRows<Exec, T> queries_;
  kernels::KeyStreamAttention<Exec, T> attend_;
  Pieces pieces_;  // of the own keys, all queries
  kernels::MergePieces<Exec, T> to_one_;
  Pieces one_;       // these as one
  Pieces of_ranks_;  // a piece a rank, own queries
  ranks::RowsToOwners<Exec, T> to_owners_;
  kernels::MergePieces<Exec, T> to_answer_;
};

/// Keys that stream by few queries, or tiles of many.
template <ExecutionSpace Exec, class T>
using Attend = std::variant<kernels::KeyStreamAttention<Exec, T>, kernels::QueryTileAttention<Exec, T>>;

/// Of the rank's queries and up to `keys` keys.
template <ExecutionSpace Exec, class T>
[[nodiscard]] Attend<Exec, T> attention_of(Exec const& exec, InputOn<Attention, Exec, T> const& input, std::size_t keys,
                                           bool only_pieces) {
  std::size_t const queries = input.q.extent(0);
  std::size_t const dim = input.q.extent(1);
  if (kernels::are_many_queries(exec, queries)) {
    return kernels::QueryTileAttention<Exec, T>(exec, queries, keys, dim, input.parameters.team, distributed_label);
  }
  return kernels::KeyStreamAttention<Exec, T>(exec, queries, keys, dim, input.parameters.chunks, input.parameters.team,
                                              distributed_label, only_pieces);
}

/// One rank has all queries and all keys.
template <ExecutionSpace Exec, class T>
class Alone {
 public:
  Alone(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Part const&)
      : attend_(attention_of<Exec, T>(exec, input, input.k.extent(0), false)) {}

  void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                  OutputOn<Attention, Exec, T> const& output) {
    auto const scale = static_cast<T>(input.parameters.scale);
    std::visit([&](auto const& attend) { attend(exec, input.q, input.k, input.v, output.out, scale); }, attend_);
  }

  [[nodiscard]] double rounding_steps() const {
    return std::visit([](auto const& attend) { return attend.rounding_steps(); }, attend_);
  }
  [[nodiscard]] static std::string note() { return ""; }

 private:
  Attend<Exec, T> attend_;
};

/// Queries stay where they are, blocks of keys and values go round.
template <ExecutionSpace Exec, class T>
class Ring {
 public:
  Ring(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Part const& part)
      : ranks_(part.ranks),
        keys_(part.input[1][0]),
        dim_(part.input[0][1]),
        attend_(attention_of<Exec, T>(exec, input, keys_of(0), true)),
        of_block_(std::visit([](auto const& attend) { return attend.pieces(); }, attend_)),
        merge_(exec, input.q.extent(0), dim_, pieces(), input.parameters.team,
               std::string(distributed_label) + "::merge"),
        pieces_(input.q.extent(0), dim_, pieces(), distributed_label),
        keys_and_values_(exec, ranks_, keys_, dim_, distributed_label) {}

  void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                  OutputOn<Attention, Exec, T> const& output) {
    auto const scale = static_cast<T>(input.parameters.scale);
    keys_and_values_(exec, {input.k.data(), input.v.data()}, [&](int rank, auto const& block) {
      using Rows = Array<T const**, typename Exec::memory_space>;
      Rows const k(block[0], keys_of(rank), dim_);
      Rows const v(block[1], keys_of(rank), dim_);
      std::visit([&](auto const& attend) { attend(exec, input.q, k, v, pieces_, rank * of_block_, scale); }, attend_);
    });
    merge_.answer(exec, pieces_, output.out);
  }

  [[nodiscard]] double rounding_steps() const {
    return std::visit([](auto const& attend) { return attend.rounding_steps(); }, attend_) + merge_.rounding_steps();
  }
  [[nodiscard]] std::string note() const { return "ring, " + std::to_string(pieces()) + " pieces"; }

 private:
  [[nodiscard]] std::size_t keys_of(int rank) const { return ranks::block_of(keys_, ranks_.count(), rank).size(); }
  [[nodiscard]] int pieces() const { return ranks_.count() * of_block_; }

  ranks::Ranks const& ranks_;
  std::size_t keys_;  // of all ranks
  std::size_t dim_;
  Attend<Exec, T> attend_;  // of the first rank's keys: none has more
  int of_block_;            // pieces of a rank's keys, of which the last may be empty
  kernels::MergePieces<Exec, T> merge_;
  kernels::AttentionPieces<Exec, T> pieces_;
  ranks::Rotate<Exec, T, 2> keys_and_values_;
};

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed",
      .level = Level::ranks,
      .summary = "keys and values split: pieces of few queries are merged, for many keys go round in a ring"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Part const& part)
        : keys_(part.input[1][0]), way_(chosen(exec, input, part)) {}

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) {
      // An answer of no keys is zeros, and no mean.
      if (keys_ == 0) return Kokkos::deep_copy(exec, output.out, T(0));
      std::visit([&](auto& way) { way(exec, input, output); }, way_);
    }

    [[nodiscard]] double rounding_steps() const {
      return std::visit([](auto const& way) { return way.rounding_steps(); }, way_);
    }
    [[nodiscard]] std::string note() const {
      return std::visit([](auto const& way) { return way.note(); }, way_);
    }

   private:
    using Merge = MergeOverRanks<Exec, T>;
    using Way = std::variant<Alone<Exec, T>, Merge, Ring<Exec, T>>;

    [[nodiscard]] static Way chosen(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                                    ranks::Part const& part) {
      if (part.ranks.count() == 1) return Way(std::in_place_type<Alone<Exec, T>>, exec, input, part);
      if (part.input[0][0] < part.input[1][0]) return Way(std::in_place_type<Merge>, exec, input, part);
      return Way(std::in_place_type<Ring<Exec, T>>, exec, input, part);
    }

    std::size_t keys_;  // of all ranks
    Way way_;
  };
};

VariantRows distributed() { return rows<Attention, Distributed>(); }

}  // namespace tessera::attention
