#pragma once
/// \file
/// The ranks of a run: one, or those of an MPI communicator. MPI is called in src/ranks/ranks.cpp and nowhere else; a build
/// without MPI has one rank, and everything here does what that means.
///
/// Everything here is collective: all ranks call it, in the same order. The memory is the host's. What one rank has to say
/// is small here (totals, texts, halos); a call returns when the caller's memory may be used again.

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
  /// The MPI_Comm of these ranks, for a library that talks by MPI itself (HDF5); nullptr without MPI.
  [[nodiscard]] void const* communicator() const;

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
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T fold(T const& value, Op const& op) const {
    T result = value;
    each_of_all(value, [&](int r, T const& of_rank) { result = r == 0 ? of_rank : op(result, of_rank); });
    return result;
  }
  /// The same of the ranks before this one; `identity` on the first.
  template <class T, class Op>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T fold_before(T const& value, T const& identity, Op const& op) const {
    T result = identity;
    each_of_all(value, [&](int r, T const& of_rank) {
      if (r < rank_) result = op(result, of_rank);
    });
    return result;
  }
  /// Each rank's value, in the order of the ranks, into all[count()].
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void all_gather(T const& value, std::span<T> all) const {
    each_of_all(value, [&](int r, T const& of_rank) { all[static_cast<std::size_t>(r)] = of_rank; });
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

  /// Ends all ranks, at once, with this exit code: where one of them has failed in a way that the others cannot know.
  [[noreturn]] void abort(int code) const;

  /// What was said since the ranks were constructed.
  [[nodiscard]] Traffic const& traffic() const { return *traffic_; }

 private:
  friend Ranks const& world();
  friend class Exchange;
  friend class Timed;
  struct Communicator;
  struct Requests;
  enum class Number : std::uint8_t { i32, u32, i64, u64, f32, f64 };
  template <class T>
  static constexpr Number number_of = std::is_same_v<T, float>           ? Number::f32
                                      : std::is_same_v<T, double>        ? Number::f64
                                      : std::is_same_v<T, std::int32_t>  ? Number::i32
                                      : std::is_same_v<T, std::uint32_t> ? Number::u32
                                      : std::is_same_v<T, std::int64_t>  ? Number::i64
                                                                         : Number::u64;

  // What a rank says at a time in a few bytes goes through memory that is kept: a launch that is timed says it, too.
  template <class T, class Body>
  void each_of_all(T const& value, Body const& body) const {
    if (count_ == 1) return body(0, value);
    words_->resize(std::max(words_->size(), static_cast<std::size_t>(count_) * sizeof(T)));
    all_gather_bytes(&value, words_->data(), sizeof(T));
    for (int r = 0; r < count_; ++r) {
      T of_rank = value;
      std::memcpy(static_cast<void*>(&of_rank), words_->data() + static_cast<std::size_t>(r) * sizeof(T), sizeof(T));
      body(r, of_rank);
    }
  }
  void all_gather_bytes(void const* own, void* all, std::size_t bytes) const;
  void sum_numbers(void* values, std::size_t count, Number number) const;

  int count_ = 1;
  int rank_ = 0;
  int count_on_node_ = 1;
  int rank_on_node_ = 0;
  std::shared_ptr<Communicator const> communicator_;
  std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
  std::shared_ptr<std::vector<unsigned char>> words_ = std::make_shared<std::vector<unsigned char>>();
  std::shared_ptr<Requests> requests_;  // those of exchange()
};

/// Adds the time that it lives, and what is said in it, to a rank's traffic.
class Timed {
 public:
  Timed(Ranks const& ranks, std::size_t bytes, std::uint64_t messages) : traffic_(*ranks.traffic_) {
    traffic_.bytes += bytes;
    traffic_.messages += messages;
  }
  ~Timed() { traffic_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  Timed(Timed const&) = delete;
  Timed& operator=(Timed const&) = delete;

 private:
  Traffic& traffic_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Messages that are on their way while the rank does something else. Constructed once and begun often: its memory is kept,
/// so that only a begin with more messages than any before allocates.
///
/// All ranks begin their exchanges in the same order, and what they wait for. What is sent is not changed, and what is
/// received not read, before wait(), which the end of the object calls, too.
class Exchange {
 public:
  /// \param most messages that room is made for, in each of the two lists, at first
  explicit Exchange(Ranks const& ranks, std::size_t most = 0);
  Exchange(Exchange&& other) noexcept;
  Exchange(Exchange const&) = delete;
  Exchange& operator=(Exchange const&) = delete;
  Exchange& operator=(Exchange&&) = delete;
  ~Exchange();

  /// Begins what Ranks::exchange() does, and returns at once.
  void begin(std::vector<Message> const& sent, std::vector<Message> const& received);
  /// Ends it.
  void wait();

  /// The whole exchange in blocks of at most `longest` bytes (on all ranks the same), so that what must be done with them before
  /// and after goes on meanwhile: `ready(k)` is called before sent_block(k) is read, of 0 .. sent_blocks() - 1 in their order, and
  /// `arrived(block)` when a MessageBlock of a received message has been written.
  template <class Ready, class Arrived>
  void in_blocks(std::vector<Message> const& sent, std::vector<Message> const& received, std::size_t longest,
                 Ready const& ready, Arrived const& arrived) {
    Timed const timed(ranks_, bytes_to_others(sent), messages_to_others(sent));
    std::size_t missing = begin_blocks(sent, received, longest);
    auto const hand_on = [&](bool waits) {
      std::span<int const> const done = done_blocks(waits);
      for (int const k : done) arrived(received_block(k));
      missing -= done.size();
    };
    for (std::size_t k = 0; k < sent_blocks(); ++k) {
      ready(k);
      send_block(k, sent);
      if (missing > 0) hand_on(false);  // all that has come by now
    }
    while (missing > 0) hand_on(true);  // at least one; NOLINT(bugprone-infinite-loop): hand_on() counts down
    end_blocks();
  }

  [[nodiscard]] std::size_t sent_blocks() const;
  [[nodiscard]] MessageBlock sent_block(std::size_t k) const;

  /// Enqueues the exchange of messages in the memory of this rank's GPU, to and from other ranks, by NCCL or RCCL (has_nccl()),
  /// to `stream`, a cudaStream_t or hipStream_t.
  void enqueue_on_gpus(std::vector<Message> const& sent, std::vector<Message> const& received, void* stream);

 private:
  [[nodiscard]] std::size_t bytes_to_others(std::vector<Message> const& messages) const;
  [[nodiscard]] std::uint64_t messages_to_others(std::vector<Message> const& messages) const;
  // Begins to receive, and returns how many blocks will come.
  [[nodiscard]] std::size_t begin_blocks(std::vector<Message> const& sent, std::vector<Message> const& received,
                                         std::size_t longest);
  void send_block(std::size_t k, std::vector<Message> const& sent);
  [[nodiscard]] std::span<int const> done_blocks(bool waits);
  [[nodiscard]] MessageBlock received_block(int k) const;
  void end_blocks();

  Ranks const& ranks_;
  std::unique_ptr<Ranks::Requests> requests_;
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
