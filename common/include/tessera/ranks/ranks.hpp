#pragma once
/// \file
/// The ranks of a run: one, or those of an MPI communicator. MPI is called in src/ranks/ranks.cpp and nowhere else; a build
/// without MPI has one rank, and everything here does what that means.
///
/// Everything here is collective: all ranks call it, in the same order. The memory is the host's. What one rank has to say
/// is small here (totals, texts, halos); a call returns when the caller's memory may be used again.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <tessera/core/types.hpp>
#include <tessera/ranks/block.hpp>

namespace tessera::ranks {

/// What the ranks said to each other, as one rank sees it.
struct Traffic {
  double seconds = 0;          ///< in calls, waiting for others included
  std::uint64_t bytes = 0;     ///< sent by this rank to others: of a collective what its caller gives
  std::uint64_t messages = 0;  ///< sent, or collectives taken part in
};

/// A contiguous part of host memory for another rank, or from one.
struct Message {
  int rank;
  void* data;
  std::size_t bytes;
};

/// Bytes [begin, end) of a message of a list.
struct MessageBlock {
  std::size_t message;
  std::size_t begin;
  std::size_t end;
};

/// The blocks of at most `longest` bytes that the messages fall into, in their order.
[[nodiscard]] inline std::vector<MessageBlock> blocks_of(std::vector<Message> const& messages, std::size_t longest) {
  std::vector<MessageBlock> blocks;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (std::size_t begin = 0; begin < messages[i].bytes; begin += longest) {
      blocks.push_back({i, begin, begin + std::min(longest, messages[i].bytes - begin)});
    }
  }
  return blocks;
}

/// The number types that ranks can add up.
template <class T>
concept Summable = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t> ||
                   std::same_as<T, std::uint32_t> || std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>;

class Ranks {
 public:
  /// One rank, whatever the program was started on.
  Ranks() = default;

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bool first() const { return rank_ == 0; }
  /// The part of n consecutive things that is this rank's.
  [[nodiscard]] Block block(std::size_t n) const { return block_of(n, count_, rank_); }

  /// Ranks on this rank's node, itself included, and which of them it is.
  [[nodiscard]] int count_on_node() const { return count_on_node_; }
  [[nodiscard]] int rank_on_node() const { return rank_on_node_; }
  /// Version of the MPI library; empty without one.
  [[nodiscard]] std::string library() const;

  void barrier() const;

  /// Each rank's value, in the order of the ranks, on all of them.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::vector<T> all_gather(T const& value) const {
    std::vector<T> all(static_cast<std::size_t>(count_), value);
    if (count_ > 1) all_gather_bytes(&value, all.data(), sizeof(T));
    return all;
  }
  [[nodiscard]] std::vector<std::string> all_gather(std::string const& text) const;
  /// Each rank's array, as long on all of them, in the order of the ranks, on all of them.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::vector<std::vector<T>> all_gather(std::vector<T> own) const {
    std::vector<std::vector<T>> all(static_cast<std::size_t>(count_), own);
    std::vector<Message> sent;
    std::vector<Message> received;
    for (int r = 0; r < count_; ++r) {
      if (r == rank_) continue;
      auto& of_rank = all[static_cast<std::size_t>(r)];
      sent.push_back({r, own.data(), own.size() * sizeof(T)});
      received.push_back({r, of_rank.data(), of_rank.size() * sizeof(T)});
    }
    if (count_ > 1) exchange(sent, received);
    return all;
  }

  /// The ranks' values combined in the order of the ranks: the same bits on all of them, whatever `op` is.
  template <class T, class Op>
  [[nodiscard]] T fold(T const& value, Op const& op) const {
    std::vector<T> const all = all_gather(value);
    T result = all.front();
    for (std::size_t r = 1; r < all.size(); ++r) result = op(result, all[r]);
    return result;
  }
  /// The same of the ranks before this one; `identity` on the first.
  template <class T, class Op>
  [[nodiscard]] T fold_before(T const& value, T const& identity, Op const& op) const {
    std::vector<T> const all = all_gather(value);
    T result = identity;
    for (int r = 0; r < rank_; ++r) result = op(result, all[static_cast<std::size_t>(r)]);
    return result;
  }
  [[nodiscard]] double sum(double value) const {
    return fold(value, [](double a, double b) { return a + b; });
  }
  [[nodiscard]] double max(double value) const {
    return fold(value, [](double a, double b) { return a < b ? b : a; });
  }
  /// True if it is on any rank.
  [[nodiscard]] bool any(bool value) const { return count_ > 1 ? max(value ? 1 : 0) > 0 : value; }

  /// Adds up the ranks' arrays, element by element, in place; integers wrap. All ranks get the same sums. The order of the
  /// additions is MPI's: up to count() - 1 roundings.
  template <Summable T>
  void sum(std::span<T> values) const {
    if (count_ > 1) sum_numbers(values.data(), values.size(), number_of<T>);
  }

  /// Sends and receives all of these; a rank may be named often, its messages arrive in the order of the lists. Lengths
  /// agree on both sides. A message may have any length: none is longer than MPI's counts reach.
  void exchange(std::vector<Message> const& sent, std::vector<Message> const& received) const;

  /// An exchange under way: wait() ends it, and so does the end of the object.
  class Exchange {
   public:
    Exchange(Exchange&& other) noexcept;
    Exchange(Exchange const&) = delete;
    Exchange& operator=(Exchange const&) = delete;
    Exchange& operator=(Exchange&&) = delete;
    ~Exchange();
    void wait();

   private:
    friend class Ranks;
    struct Requests;
    explicit Exchange(std::unique_ptr<Requests> requests);
    std::unique_ptr<Requests> requests_;
  };
  /// Begins what exchange() does, and returns at once: what is sent is not changed and what is received not read before it
  /// has ended.
  [[nodiscard]] Exchange begin_exchange(std::vector<Message> const& sent, std::vector<Message> const& received) const;

  /// The same in blocks of at most `longest` bytes (on all ranks the same), so that what must be done with them before and after goes on
  /// meanwhile: `ready(k)` is called before block k of blocks_of(sent, longest) is read, in their order, and `arrived` when a block of
  /// a received message has been written.
  void exchange_in_blocks(std::vector<Message> const& sent, std::vector<Message> const& received, std::size_t longest,
                          std::function<void(std::size_t k)> const& ready,
                          std::function<void(MessageBlock const& block)> const& arrived) const;

  /// The same of messages in the memory of this rank's GPU, to and from other ranks, by NCCL or RCCL (has_nccl()), in the
  /// order of `stream`, a cudaStream_t or hipStream_t; `finish` waits for it.
  void exchange_on_gpus(std::vector<Message> const& sent, std::vector<Message> const& received, void* stream,
                        std::function<void()> const& finish) const;

  /// Ends all ranks, at once, with this exit code: where one of them has failed in a way that the others cannot know.
  [[noreturn]] void abort(int code) const;

  /// What was said since the ranks were constructed.
  [[nodiscard]] Traffic const& traffic() const { return *traffic_; }

 private:
  friend Ranks const& world();
  struct Communicator;
  enum class Number : std::uint8_t { i32, u32, i64, u64, f32, f64 };
  template <class T>
  static constexpr Number number_of = std::is_same_v<T, float>           ? Number::f32
                                      : std::is_same_v<T, double>        ? Number::f64
                                      : std::is_same_v<T, std::int32_t>  ? Number::i32
                                      : std::is_same_v<T, std::uint32_t> ? Number::u32
                                      : std::is_same_v<T, std::int64_t>  ? Number::i64
                                                                         : Number::u64;

  void all_gather_bytes(void const* own, void* all, std::size_t bytes) const;
  void sum_numbers(void* values, std::size_t count, Number number) const;

  int count_ = 1;
  int rank_ = 0;
  int count_on_node_ = 1;
  int rank_on_node_ = 0;
  std::shared_ptr<Communicator const> communicator_;
  std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
};

/// All ranks that the program was started on. The first call starts MPI; it ends with the program.
/// Throws UserError if a launcher started several processes that do not know of each other: because this build has no MPI,
/// or that of another launcher.
[[nodiscard]] Ranks const& world();

/// Runs `step` on every rank. If it throws on any of them, it throws on all: what the first of those ranks threw, UserError
/// as such, with the rank's number where not all say the same. `step` itself says nothing to other ranks: one that threw
/// would leave them waiting.
template <class Step>
void together(Ranks const& ranks, Step const& step) {
  if (ranks.count() == 1) {
    step();
    return;
  }
  std::string fault;  // "u..." the user's, "e..." another
  try {
    step();
  } catch (UserError const& error) {
    fault = std::string("u") + error.what();
  } catch (std::exception const& error) {
    fault = std::string("e") + error.what();
  }
  std::vector<std::string> const all = ranks.all_gather(fault);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].empty()) continue;
    bool same = true;
    for (std::string const& other : all) same = same && other == all[r];
    std::string const text = (same ? "" : "rank " + std::to_string(r) + ": ") + all[r].substr(1);
    if (all[r].front() == 'u') throw UserError(text);
    throw std::runtime_error(text);
  }
}

}  // namespace tessera::ranks
