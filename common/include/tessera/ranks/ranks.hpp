#pragma once
/// \file
/// The ranks of a run: one rank, or the ranks of an MPI communicator. MPI is called only in src/ranks/ranks.cpp. A
/// build without MPI has one rank, and all functions work accordingly.
///
/// All functions are collective: they must be called by all ranks, in the same order. Memory is host memory. Messages
/// are small here (totals, texts, halos). When a call returns, the caller's memory may be reused.

#include <algorithm>
#include <chrono>
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

/// The communication of one rank.
struct Traffic {
  double seconds = 0;          ///< in calls, including waiting for others
  std::uint64_t bytes = 0;     ///< sent by this rank to others; for a collective, the bytes that the caller contributes
  std::uint64_t messages = 0;  ///< messages sent, plus collectives
};

/// A contiguous part of host memory that is sent to, or received from, another rank.
struct Message {
  int rank;
  void* data;
  std::size_t bytes;
};

/// Bytes [begin, end) of one message in a list.
struct MessageBlock {
  std::size_t message;
  std::size_t begin;
  std::size_t end;
};

/// The number types that ranks can sum.
template <class T>
concept Summable = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t> ||
                   std::same_as<T, std::uint32_t> || std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>;

class Ranks {
 public:
  /// One rank, independent of how the program was started.
  Ranks() = default;

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] bool first() const { return rank_ == 0; }
  /// Returns this rank's part of n consecutive items.
  [[nodiscard]] Block block(std::size_t n) const { return block_of(n, count_, rank_); }

  /// The number of ranks on this rank's node, itself included, and this rank's index among them.
  [[nodiscard]] int count_on_node() const { return count_on_node_; }
  [[nodiscard]] int rank_on_node() const { return rank_on_node_; }
  /// Returns the version of the MPI library; empty without MPI.
  [[nodiscard]] std::string library() const;
  /// Returns the MPI_Comm of these ranks, for a library that uses MPI itself (HDF5); nullptr without MPI.
  [[nodiscard]] void const* communicator() const;

  void barrier() const;

  /// Returns each rank's value, in the order of the ranks, on all ranks.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::vector<T> all_gather(T const& value) const {
    std::vector<T> all(static_cast<std::size_t>(count_), value);
    if (count_ > 1) all_gather_bytes(&value, all.data(), sizeof(T));
    return all;
  }
  [[nodiscard]] std::vector<std::string> all_gather(std::string const& text) const;
  /// Returns each rank's array, in the order of the ranks, on all ranks. The arrays must have the same length.
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

  /// Returns the ranks' values combined in the order of the ranks: the same bits on all ranks, for any `op`.
  template <class T, class Op>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T fold(T const& value, Op const& op) const {
    T result = value;
    each_of_all(value, [&](int r, T const& of_rank) { result = r == 0 ? of_rank : op(result, of_rank); });
    return result;
  }
  /// Returns the combined values of the ranks before this rank; `identity` on the first rank.
  template <class T, class Op>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T fold_before(T const& value, T const& identity, Op const& op) const {
    T result = identity;
    each_of_all(value, [&](int r, T const& of_rank) {
      if (r < rank_) result = op(result, of_rank);
    });
    return result;
  }
  /// Writes each rank's value, in the order of the ranks, to all[count()].
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
  /// True if `value` is true on any rank.
  [[nodiscard]] bool any(bool value) const { return count_ > 1 ? max(value ? 1 : 0) > 0 : value; }

  /// Sums the ranks' arrays element by element, in place; integers wrap. All ranks get the same sums. The order of the
  /// additions is chosen by MPI: up to count() - 1 roundings.
  template <Summable T>
  void sum(std::span<T> values) const {
    if (count_ > 1) sum_numbers(values.data(), values.size(), number_of<T>);
  }

  /// Sends and receives all messages. A rank may occur several times; its messages arrive in the order of the lists.
  /// Lengths must agree on both sides. A message may have any length: long messages are split to fit MPI's counts.
  void exchange(std::vector<Message> const& sent, std::vector<Message> const& received) const;

  /// Ends all ranks immediately with this exit code, after a failure on one rank that the others cannot detect.
  [[noreturn]] void abort(int code) const;

  /// Returns the communication since the ranks were constructed.
  [[nodiscard]] Traffic const& traffic() const { return *traffic_; }

 private:
  friend Ranks const& world();
  friend class Exchange;
  friend class Timed;
  struct Communicator;
  struct Requests;
  enum class Number : std::uint8_t { u32, u64, f32, f64 };  // integers as unsigned, so that they wrap
  template <class T>
  static constexpr Number number_of = std::floating_point<T> ? (sizeof(T) == 4 ? Number::f32 : Number::f64)
                                                             : (sizeof(T) == 4 ? Number::u32 : Number::u64);

  // Values of a few bytes use memory that is kept, because timed launches also exchange them.
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
  std::shared_ptr<Requests> requests_;  // of exchange()
};

/// Adds its lifetime, and the communication in it, to a rank's traffic.
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

/// Messages that are in flight while the rank does other work. Construct it once and reuse it: its memory is kept, so
/// that begin() allocates only if it has more messages than ever before.
///
/// All ranks must begin their exchanges, and wait for them, in the same order. Before wait(), sent memory must not be
/// changed and received memory must not be read. The destructor calls wait().
class Exchange {
 public:
  /// \param most initial capacity in messages, for each of the two lists
  explicit Exchange(Ranks const& ranks, std::size_t most = 0);
  Exchange(Exchange&& other) noexcept;
  Exchange(Exchange const&) = delete;
  Exchange& operator=(Exchange const&) = delete;
  Exchange& operator=(Exchange&&) = delete;
  ~Exchange();

  /// Begins the work of Ranks::exchange() and returns immediately.
  void begin(std::vector<Message> const& sent, std::vector<Message> const& received);
  /// Waits until the exchange is complete.
  void wait();

  /// Executes the whole exchange in blocks of at most `longest` bytes (the same on all ranks), so that work before and
  /// after the transfer of a block overlaps with other transfers. Calls `ready(k)` before sent_block(k) is read, for 0
  /// .. sent_blocks() - 1 in order, and `arrived(block)` when a MessageBlock of a received message has been written.
  void in_blocks(std::vector<Message> const& sent, std::vector<Message> const& received, std::size_t longest,
                 std::function<void(std::size_t)> const& ready,
                 std::function<void(MessageBlock const&)> const& arrived);

  [[nodiscard]] std::size_t sent_blocks() const;
  [[nodiscard]] MessageBlock sent_block(std::size_t k) const;

  /// Enqueues the exchange of messages in the memory of this rank's GPU, to and from other ranks, by NCCL or RCCL
  /// (has_nccl()), on `stream`, a cudaStream_t or hipStream_t.
  void enqueue_on_gpus(std::vector<Message> const& sent, std::vector<Message> const& received, void* stream);

 private:
  Ranks const& ranks_;
  std::unique_ptr<Ranks::Requests> requests_;
};

/// Returns all ranks that the program was started on. The first call starts MPI, which ends with the program. Throws
/// UserError if a launcher started several processes that do not know of each other, because this build has no MPI or
/// was built with another MPI than the launcher's.
[[nodiscard]] Ranks const& world();

/// Runs `step` on every rank. If it throws on any rank, all ranks throw the exception of the first such rank; a
/// UserError stays a UserError. The text names the rank unless all ranks have the same text. `step` must not
/// communicate, because a rank that throws would leave the others waiting.
void together(Ranks const& ranks, std::function<void()> const& step);

}  // namespace tessera::ranks
