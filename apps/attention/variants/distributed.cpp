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
/// Example, two ranks, one query, a key with score 0 on the first, one with ln 3 on the second: pieces {0, 1, v_0} and
/// {ln 3, 1, v_1}; the first rank, which has the query, gets both and writes (v_0 + 3 v_1) / 4.

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "../problem.hpp"

#include <tessera/kernels/attention.hpp>
#include <tessera/kernels/merge_attention.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

constexpr char const* distributed_label = "tessera::attention::distributed";

/// All queries are on all ranks, keys stay where they are.
template <ExecutionSpace Exec, class T>
class MergeOverRanks {
  using Memory = typename Exec::memory_space;
  using Host = Kokkos::View<T*, Kokkos::HostSpace>;
  using Pieces = kernels::AttentionPieces<Exec, T>;

 public:
  MergeOverRanks(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Part const& part)
      : ranks_(part.ranks),
        queries_(part.input[0][0]),
        dim_(part.input[0][1]),
        own_(part.ranks.block(queries_)),
        attend_(exec, queries_, input.k.extent(0), dim_, input.parameters.chunks, input.parameters.team,
                distributed_label, true),
        to_one_(exec, queries_, dim_, attend_.pieces(), input.parameters.team,
                std::string(distributed_label) + "::one"),
        to_answer_(exec, own_.size(), dim_, ranks_.count(), input.parameters.team,
                   std::string(distributed_label) + "::merge"),
        all_queries_(numbers<Memory>("::queries", queries_ * dim_)),
        pieces_(queries_, dim_, attend_.pieces(), std::string(distributed_label) + "::own"),
        one_(queries_, dim_, 1, std::string(distributed_label) + "::one"),
        of_ranks_(own_.size(), dim_, ranks_.count(), std::string(distributed_label) + "::of_ranks"),
        host_queries_(numbers<Kokkos::HostSpace>("::host_queries", queries_ * dim_)) {
    Fields const own{numbers<Kokkos::HostSpace>("::sums", queries_ * dim_),
                     numbers<Kokkos::HostSpace>("::largest", queries_),
                     numbers<Kokkos::HostSpace>("::total", queries_)};
    std::size_t const got = static_cast<std::size_t>(ranks_.count()) * own_.size();
    Fields const theirs{numbers<Kokkos::HostSpace>("::their_sums", got * dim_),
                        numbers<Kokkos::HostSpace>("::their_largest", got),
                        numbers<Kokkos::HostSpace>("::their_total", got)};
    host_one_ = own;
    host_of_ranks_ = theirs;
    for (int r = 0; r < ranks_.count(); ++r) {
      ranks::Block const of_rank = ranks::block_of(queries_, ranks_.count(), r);
      if (r != ranks_.rank()) {
        add(queries_sent_, r, host_queries_, own_.begin * dim_, own_.size() * dim_);
        add(queries_received_, r, host_queries_, of_rank.begin * dim_, of_rank.size() * dim_);
      }
      for (std::size_t f = 0; f < own.size(); ++f) {
        std::size_t const width = f == 0 ? dim_ : 1;
        if (r != ranks_.rank()) {
          add(pieces_sent_, r, own[f], of_rank.begin * width, of_rank.size() * width);
          add(pieces_received_, r, theirs[f], static_cast<std::size_t>(r) * own_.size() * width, own_.size() * width);
        }
      }
    }
  }

  void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                  OutputOn<Attention, Exec, T> const& output) const {
    Kokkos::deep_copy(exec, part(host_queries_, own_.begin * dim_, own_.size() * dim_),
                      Unmanaged(input.q.data(), input.q.size()));
    exec.fence("tessera::attention::distributed: own queries");
    ranks_.exchange(queries_sent_, queries_received_);
    Kokkos::deep_copy(exec, all_queries_, host_queries_);
    Array<T const**, Memory> const queries(all_queries_.data(), queries_, dim_);
    attend_(exec, queries, input.k, input.v, pieces_, 0, static_cast<T>(input.parameters.scale));
    to_one_.to_one(exec, pieces_, one_);
    Kokkos::deep_copy(exec, host_one_[0], one_.sums);
    Kokkos::deep_copy(exec, host_one_[1], one_.largest);
    Kokkos::deep_copy(exec, host_one_[2], one_.total);
    exec.fence("tessera::attention::distributed: own pieces");
    for (std::size_t f = 0; f < host_one_.size(); ++f) {
      std::size_t const width = f == 0 ? dim_ : 1;
      Kokkos::deep_copy(
          part(host_of_ranks_[f], static_cast<std::size_t>(ranks_.rank()) * own_.size() * width, own_.size() * width),
          part(host_one_[f], own_.begin * width, own_.size() * width));
    }
    ranks_.exchange(pieces_sent_, pieces_received_);
    Kokkos::deep_copy(exec, of_ranks_.sums, host_of_ranks_[0]);
    Kokkos::deep_copy(exec, of_ranks_.largest, host_of_ranks_[1]);
    Kokkos::deep_copy(exec, of_ranks_.total, host_of_ranks_[2]);
    to_answer_.answer(exec, of_ranks_, output.out);
  }

  /// Of a rank's pieces, theirs to one, those of the ranks.
  [[nodiscard]] double rounding_steps() const {
    return attend_.rounding_steps() + to_one_.rounding_steps() + to_answer_.rounding_steps();
  }
  [[nodiscard]] std::string note() const { return "merge, " + std::to_string(attend_.pieces()) + " pieces a rank"; }

 private:
  using Fields = std::vector<Host>;  // sums, largest, total
  using Unmanaged = Kokkos::View<T const*, Memory, Kokkos::MemoryUnmanaged>;
  template <class Space>
  [[nodiscard]] static Kokkos::View<T*, Space> numbers(char const* name, std::size_t n) {
    return Kokkos::View<T*, Space>(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(distributed_label) + name), n);
  }
  [[nodiscard]] static Host part(Host const& all, std::size_t begin, std::size_t count) {
    return Kokkos::subview(all, Kokkos::make_pair(begin, begin + count));
  }
  static void add(std::vector<ranks::Message>& messages, int rank, Host const& of, std::size_t begin,
                  std::size_t count) {
    if (count > 0) messages.push_back({rank, of.data() + begin, count * sizeof(T)});
  }

  ranks::Ranks const& ranks_;
  std::size_t queries_;
  std::size_t dim_;
  ranks::Block own_;  // of the queries
  kernels::KeyStreamAttention<Exec, T> attend_;
  kernels::MergePieces<Exec, T> to_one_;
  kernels::MergePieces<Exec, T> to_answer_;
  Kokkos::View<T*, Memory> all_queries_;
  Pieces pieces_;    // of the own keys, all queries
  Pieces one_;       // these as one
  Pieces of_ranks_;  // a piece a rank, own queries
  Host host_queries_;
  Fields host_one_;
  Fields host_of_ranks_;
  std::vector<ranks::Message> queries_sent_;
  std::vector<ranks::Message> queries_received_;
  std::vector<ranks::Message> pieces_sent_;
  std::vector<ranks::Message> pieces_received_;
};

/// Queries stay where they are, blocks of keys and values go round.
template <ExecutionSpace Exec, class T>
class Ring {
  using Memory = typename Exec::memory_space;
  using Host = Kokkos::View<T*, Kokkos::HostSpace>;

 public:
  Ring(Exec const& exec, InputOn<Attention, Exec, T> const& input, ranks::Part const& part)
      : ranks_(part.ranks),
        keys_(part.input[1][0]),
        dim_(part.input[0][1]),
        attend_larger_(attention_of(exec, input, keys_of(0))),
        attend_smaller_(attention_of(exec, input, keys_of(ranks_.count() - 1))),
        first_(first_pieces()),
        merge_(exec, input.q.extent(0), dim_, first_.back(), input.parameters.team,
               std::string(distributed_label) + "::merge"),
        pieces_(input.q.extent(0), dim_, first_.back(), distributed_label),
        block_(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(distributed_label) + "::block"),
               ranks_.count() > 1 ? 2 * keys_of(0) * dim_ : 0) {
    for (Host& host : host_) {
      host = Host(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(distributed_label) + "::host"),
                  block_.size());
    }
  }

  void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                  OutputOn<Attention, Exec, T> const& output) const {
    int const count = ranks_.count();
    auto const scale = static_cast<T>(input.parameters.scale);
    int const before = (ranks_.rank() + count - 1) % count;
    int const behind = (ranks_.rank() + 1) % count;
    std::size_t const own = keys_of(ranks_.rank()) * dim_;
    if (count > 1) {
      using Own = Kokkos::View<T const*, Memory, Kokkos::MemoryUnmanaged>;
      Kokkos::deep_copy(exec, part(host_[0], 0, own), Own(input.k.data(), own));
      Kokkos::deep_copy(exec, part(host_[0], own, 2 * own), Own(input.v.data(), own));
      exec.fence("tessera::attention::distributed: own keys and values");
    }
    auto k = input.k;
    auto v = input.v;
    for (int step = 0; step < count; ++step) {
      int const rank = (ranks_.rank() + step) % count;  // whose block this is
      Host const& here = host_[step % 2];
      Host const& there = host_[(step + 1) % 2];
      bool const is_last = step + 1 == count;
      std::size_t const next = is_last ? 0 : keys_of((rank + 1) % count) * dim_;
      auto under_way = ranks_.begin_exchange(messages(is_last ? 0 : 2 * keys_of(rank) * dim_, before, here),
                                             messages(2 * next, behind, there));
      std::visit([&](auto const& attend) { attend(exec, input.q, k, v, pieces_, first_[index(rank)], scale); },
                 attention_for(rank));
      under_way.wait();
      if (is_last) break;
      Kokkos::deep_copy(exec, Kokkos::subview(block_, Kokkos::make_pair(std::size_t{0}, 2 * next)),
                        part(there, 0, 2 * next));
      exec.fence("tessera::attention::distributed: the next keys and values");  // `there` is sent, `here` overwritten
      std::size_t const rows = keys_of((rank + 1) % count);
      k = Array<T const**, Memory>(block_.data(), rows, dim_);
      v = Array<T const**, Memory>(block_.data() + next, rows, dim_);
    }
    merge_.answer(exec, pieces_, output.out);
  }

  [[nodiscard]] double rounding_steps() const {
    return std::visit([](auto const& attend) { return attend.rounding_steps(); }, attend_larger_) +
           merge_.rounding_steps();
  }
  [[nodiscard]] std::string note() const {
    return ranks_.count() == 1 ? "" : "ring, " + std::to_string(first_.back()) + " pieces";
  }

 private:
  using Attend = std::variant<kernels::KeyStreamAttention<Exec, T>, kernels::QueryTileAttention<Exec, T>>;

  [[nodiscard]] static Attend attention_of(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                                           std::size_t keys) {
    std::size_t const queries = input.q.extent(0);
    std::size_t const dim = input.q.extent(1);
    if (kernels::are_many_queries(exec, queries)) {
      return kernels::QueryTileAttention<Exec, T>(exec, queries, keys, dim, input.parameters.team, distributed_label);
    }
    return kernels::KeyStreamAttention<Exec, T>(exec, queries, keys, dim, input.parameters.chunks,
                                                input.parameters.team, distributed_label, true);
  }
  [[nodiscard]] static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] std::size_t keys_of(int rank) const { return ranks::block_of(keys_, ranks_.count(), rank).size(); }
  [[nodiscard]] Attend const& attention_for(int rank) const {
    return keys_of(rank) == keys_of(0) ? attend_larger_ : attend_smaller_;
  }
  // The first piece of each rank's keys, and how many pieces there are.
  [[nodiscard]] std::vector<int> first_pieces() const {
    std::vector<int> first{0};
    for (int r = 0; r < ranks_.count(); ++r) {
      first.push_back(first.back() + std::visit([](auto const& attend) { return attend.pieces(); }, attention_for(r)));
    }
    return first;
  }
  [[nodiscard]] static std::vector<ranks::Message> messages(std::size_t count, int rank, Host const& host) {
    if (count == 0) return {};
    return {{rank, host.data(), count * sizeof(T)}};
  }
  [[nodiscard]] static Host part(Host const& all, std::size_t begin, std::size_t end) {
    return Kokkos::subview(all, Kokkos::make_pair(begin, end));
  }

  ranks::Ranks const& ranks_;
  std::size_t keys_;
  std::size_t dim_;
  Attend attend_larger_;
  Attend attend_smaller_;
  std::vector<int> first_;
  kernels::MergePieces<Exec, T> merge_;
  kernels::AttentionPieces<Exec, T> pieces_;
  Kokkos::View<T*, Memory> block_;  // keys and values of another rank, one after the other
  Host host_[2];                    // what is sent on, and what comes
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
        : keys_(part.input[1][0]) {
      if (part.ranks.count() > 1 && part.input[0][0] < keys_) {
        way_.template emplace<MergeOverRanks<Exec, T>>(exec, input, part);
      } else {
        way_.template emplace<Ring<Exec, T>>(exec, input, part);
      }
    }

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      if (keys_ == 0) {  // an answer of no keys is zeros, and no mean
        Kokkos::deep_copy(exec, output.out, T(0));
        return;
      }
      std::visit(
          [&]<class Way>(Way const& way) {
            if constexpr (!std::is_same_v<Way, std::monostate>) way(exec, input, output);
          },
          way_);
    }

    [[nodiscard]] double rounding_steps() const {
      return of_way(0.0, [](auto const& way) { return way.rounding_steps(); });
    }
    [[nodiscard]] std::string note() const {
      return of_way(std::string(), [](auto const& way) { return way.note(); });
    }

   private:
    template <class Value, class Get>
    [[nodiscard]] Value of_way(Value otherwise, Get const& get) const {
      return std::visit(
          [&]<class Way>(Way const& way) -> Value {
            if constexpr (std::is_same_v<Way, std::monostate>) {
              return otherwise;
            } else {
              return get(way);
            }
          },
          way_);
    }

    std::size_t keys_;  // of all ranks
    std::variant<std::monostate, MergeOverRanks<Exec, T>, Ring<Exec, T>> way_;
  };
};

VariantRows distributed() { return rows<Attention, Distributed>(); }

}  // namespace tessera::attention
