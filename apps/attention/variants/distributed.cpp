/// \file
/// On several ranks: each rank has some queries, and some keys with their values. A piece is the partial result of a
/// query for some keys: the largest score, the sum of weights and the weighted mean of values
/// (kernels/detail/attention/attention_pieces.hpp). There are two methods; the shapes decide which one sends less:
///
///   merge  fewer queries than keys: all ranks get all queries and make their pieces from their own keys; the rank that
///          owns the query merges its pieces (ranks/reduce_scatter_pieces.hpp). Sends 2 d + 2 numbers per query.
///   ring   otherwise: queries stay where they are, and blocks of keys and values go round, each to the previous rank
///          (ranks/rotate.hpp). While a rank makes the pieces of one block, the next block is in flight. Sends 2 d
///          numbers per key.
///
/// A single rank has nothing to merge and only runs the kernel.

#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "../problem.hpp"

#include <tessera/kernels/attention.hpp>
#include <tessera/kernels/merge_attention.hpp>
#include <tessera/ranks/all_gather_rows.hpp>
#include <tessera/ranks/reduce_scatter_pieces.hpp>
#include <tessera/ranks/rotate.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

constexpr char const* distributed_label = "tessera::attention::distributed";

/// Without keys the output is zeros, not a mean. Without columns no pieces are stored, even for 2^50 queries.
template <ExecutionSpace Exec, class T>
class Zeros {
 public:
  void operator()(Exec const& exec, InputOn<Attention, Exec, T> const&,
                  OutputOn<Attention, Exec, T> const& output) const {
    Kokkos::deep_copy(exec, output.out, T(0));
  }

  [[nodiscard]] static double rounding_steps() { return 0; }
  [[nodiscard]] static std::string note() { return ""; }
};

/// The kernel for one rank, which has all queries and all keys.
template <ExecutionSpace Exec, class T>
struct Alone : kernels::Attention<Exec, T> {
  Alone(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Part const&)
      : Alone::Attention(exec, input.q.extent(0), input.k.extent(0), input.q.extent(1), input.parameters.chunks,
                         input.parameters.team, distributed_label) {}

  void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                  OutputOn<Attention, Exec, T> const& output) const {
    Alone::Attention::operator()(exec, input.q, input.k, input.v, output.out, static_cast<T>(input.parameters.scale));
  }

  [[nodiscard]] static std::string note() { return ""; }
};

/// The method `merge`: all ranks get all queries, keys stay where they are.
template <ExecutionSpace Exec, class T>
class Merge {
 public:
  Merge(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Part const& part)
      : queries_(exec, part.ranks, part.input[0][0], part.input[0][1], distributed_label),
        attend_(exec, part.input[0][0], input.k.extent(0), part.input[0][1], input.parameters.chunks,
                input.parameters.team, distributed_label, true),
        pieces_(exec, part.ranks, part.input[0][0], part.input[0][1], attend_.pieces(), input.parameters.team,
                distributed_label) {}

  void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                  OutputOn<Attention, Exec, T> const& output) {
    queries_(exec, input.q.data());
    attend_(exec, queries_.all(), input.k, input.v, pieces_.own(), 0, static_cast<T>(input.parameters.scale));
    pieces_(exec, output.out);
  }

  [[nodiscard]] double rounding_steps() const { return attend_.rounding_steps() + pieces_.rounding_steps(); }
  [[nodiscard]] std::string note() const { return "merge, " + std::to_string(attend_.pieces()) + " pieces per rank"; }

 private:
  ranks::AllGatherRows<Exec, T> queries_;
  kernels::Attention<Exec, T> attend_;
  ranks::ReduceScatterPieces<Exec, T> pieces_;
};

/// The method `ring`: queries stay where they are, blocks of keys and values go round.
template <ExecutionSpace Exec, class T>
class Ring {
 public:
  Ring(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Part const& part)
      : ranks_(part.ranks),
        keys_(part.input[1][0]),
        dim_(part.input[0][1]),
        // Sized for the first rank's keys: no rank has more.
        attend_(exec, input.q.extent(0), keys_of(0), dim_, input.parameters.chunks, input.parameters.team,
                distributed_label, true),
        pieces_(input.q.extent(0), dim_, ranks_.count() * attend_.pieces(), distributed_label),
        merge_(exec, input.q.extent(0), dim_, pieces_.count, input.parameters.team,
               std::string(distributed_label) + "::merge"),
        keys_and_values_(exec, ranks_, keys_, dim_, distributed_label) {}

  void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                  OutputOn<Attention, Exec, T> const& output) {
    auto const scale = static_cast<T>(input.parameters.scale);
    keys_and_values_(exec, {input.k.data(), input.v.data()}, [&](int rank, auto const& block) {
      using Rows = Array<T const**, typename Exec::memory_space>;
      Rows const k(block[0], keys_of(rank), dim_);
      Rows const v(block[1], keys_of(rank), dim_);
      attend_(exec, input.q, k, v, pieces_, rank * attend_.pieces(), scale);
    });
    merge_.answer(exec, pieces_, output.out);
  }

  [[nodiscard]] double rounding_steps() const { return attend_.rounding_steps() + merge_.rounding_steps(); }
  [[nodiscard]] std::string note() const { return "ring, " + std::to_string(pieces_.count) + " pieces"; }

 private:
  [[nodiscard]] std::size_t keys_of(int rank) const { return ranks::block_of(keys_, ranks_.count(), rank).size(); }

  ranks::Ranks const& ranks_;
  std::size_t keys_;  // on all ranks
  std::size_t dim_;
  kernels::Attention<Exec, T> attend_;
  kernels::AttentionPieces<Exec, T> pieces_;  // in the order of the ranks' keys
  kernels::MergePieces<Exec, T> merge_;
  ranks::Rotate<Exec, T, 2> keys_and_values_;
};

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed",
      .level = Level::ranks,
      .summary = "keys and values split over the ranks: few queries merge pieces, many rotate keys in a ring"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Part const& part)
        : way_(chosen(exec, input, part)) {}

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) {
      std::visit([&](auto& way) { way(exec, input, output); }, way_);
    }

    [[nodiscard]] double rounding_steps() const {
      return std::visit([](auto const& way) { return way.rounding_steps(); }, way_);
    }
    [[nodiscard]] std::string note() const {
      return std::visit([](auto const& way) { return way.note(); }, way_);
    }

   private:
    using Way = std::variant<Zeros<Exec, T>, Alone<Exec, T>, Merge<Exec, T>, Ring<Exec, T>>;

    [[nodiscard]] static Way chosen(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                                    ranks::Part const& part) {
      bool const has_sums = part.input[1][0] > 0 && part.input[0][0] > 0 && part.input[0][1] > 0;
      if (!has_sums) return Way(std::in_place_type<Zeros<Exec, T>>);
      if (part.ranks.count() == 1) return Way(std::in_place_type<Alone<Exec, T>>, exec, input, part);
      if (part.input[0][0] < part.input[1][0]) return Way(std::in_place_type<Merge<Exec, T>>, exec, input, part);
      return Way(std::in_place_type<Ring<Exec, T>>, exec, input, part);
    }

    Way way_;
  };
};

VariantRows distributed() { return rows<Attention, Distributed>(); }

}  // namespace tessera::attention
