#pragma once
/// \file
/// Messages from and to the memory of an execution space, by the run's transport.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/ranks/side.hpp>
#include <tessera/ranks/transport.hpp>

namespace tessera::ranks {

/// Upper limits for the lists of an exchange: messages per list, and bytes sent to and received from other ranks.
struct MostOfBulk {
  std::size_t messages = 0;
  std::size_t sent = 0;
  std::size_t received = 0;
};

/// The constructor allocates memory for lists up to `most`, including the host memory for staging. Exchanges within
/// these limits allocate nothing. All ranks must call it in the same order, and exchanges of one object must not
/// overlap.
template <ExecutionSpace Exec>
class Bulk {
 public:
  /// Bytes of a staged block, which is copied while the preceding block is sent: long enough for full bandwidth, short
  /// compared with a message.
  static constexpr std::size_t block = std::size_t{8} << 20;

  Bulk(Exec const& exec, Ranks const& ranks, std::string const& label, MostOfBulk const& most)
      : ranks_(ranks),
        sent_(label + ": sent"),
        on_host_(label + ": a block on the host"),
        received_(label + ": received"),
        staging_(label + "::staged"),
        exchange_(ranks, 2 * most.messages + (most.sent + most.received) / block) {
    for (auto* const list : {&out_, &in_, &host_out_, &host_in_}) list->reserve(most.messages);
    if (ranks.count() == 1) return;
    Transport const way = transport(is_gpu<Exec>);
    if (way == Transport::staged || way == Transport::nccl) make_sides(exec);
    if (way == Transport::staged) {
      make_room(memory_out_, most.sent);
      make_room(memory_in_, most.received);
    }
  }

  /// Sends and receives all messages, as Ranks::exchange() does; their memory is memory of Exec. Work that was enqueued
  /// on `exec` before the call is completed first. When the call returns, the messages have arrived, and sent memory
  /// may be overwritten.
  void operator()(Exec const& exec, std::vector<Message> const& sent, std::vector<Message> const& received) {
    enqueue(exec, sent, received);
    if (!enqueues()) return;
    Timed const timed(ranks_, 0, 0);
    exec.fence(received_);
  }

  /// The same for messages that only work on `exec` writes and reads: the call returns without waiting if enqueues().
  void enqueue(Exec const& exec, std::vector<Message> const& sent, std::vector<Message> const& received) {
    if constexpr (is_gpu<Exec>) {
      if (enqueues()) {
        take(exec, sent, received);
        exchange_.enqueue_on_gpus(out_, in_, stream_of(exec));
        return;
      }
    }
    begin(exec, sent, received);
    wait(exec);
  }

  /// Returns whether messages are enqueued on `exec`, without the host (NCCL).
  [[nodiscard]] bool enqueues() const { return transport(is_gpu<Exec>) == Transport::nccl && ranks_.count() > 1; }

  /// Begins the exchange after the work enqueued on `exec` so far. Work enqueued on `exec` afterwards runs
  /// concurrently. It must not write to sent memory, nor read received memory, before wait() returns.
  void begin(Exec const& exec, std::vector<Message> const& sent, std::vector<Message> const& received) {
    take(exec, sent, received);
    if (ranks_.count() == 1) return;  // only copies, in the order of exec
    exec.fence(sent_);
    Transport const way = transport(is_gpu<Exec>);
    if (way == Transport::staged) return;  // wait() sends them, while the device computes
    if constexpr (is_gpu<Exec>) {
      if (way == Transport::nccl) {
        if (sides_.empty()) make_sides(exec);
        exchange_.enqueue_on_gpus(out_, in_, stream_of(sides_[0].exec()));
        return;
      }
    }
    exchange_.begin(out_, in_);
  }
  void wait(Exec const& exec) {
    if (ranks_.count() == 1) return;
    Transport const way = transport(is_gpu<Exec>);
    if (way == Transport::staged) {
      staged(exec);
    } else if (way == Transport::nccl) {
      Timed const timed(ranks_, 0, 0);
      sides_[0].exec().fence(received_);
    } else {
      exchange_.wait();
    }
  }

 private:
  using Memory = typename Exec::memory_space;
  using Pinned = Kokkos::SharedHostPinnedSpace;
  using OnHost = Kokkos::View<unsigned char*, Pinned>;

  template <class Space = Memory>
  [[nodiscard]] static auto part(Message const& message, std::size_t begin, std::size_t end) {
    return unmanaged<Space>(static_cast<unsigned char*>(message.data) + begin, end - begin);
  }

  [[nodiscard]] static auto stream_of(Exec const& exec) {
#if defined(KOKKOS_ENABLE_CUDA)
    return exec.cuda_stream();
#elif defined(KOKKOS_ENABLE_HIP)
    return exec.hip_stream();
#else
    (void)exec;
    return nullptr;
#endif
  }

  // Selects the messages to and from other ranks. Messages to this rank itself become copies, in the order of the
  // lists.
  void take(Exec const& exec, std::vector<Message> const& sent, std::vector<Message> const& received) {
    out_.clear();
    in_.clear();
    auto to = received.begin();
    for (Message const& message : sent) {
      if (message.rank != ranks_.rank()) {
        out_.push_back(message);
        continue;
      }
      to = std::find_if(to, received.end(), [&](Message const& one) { return one.rank == ranks_.rank(); });
      if (message.bytes > 0) Kokkos::deep_copy(exec, part(*to, 0, to->bytes), part(message, 0, message.bytes));
      ++to;
    }
    for (Message const& message : received) {
      if (message.rank != ranks_.rank()) in_.push_back(message);
    }
  }

  void make_room(OnHost& memory, std::size_t bytes) const {
    if (memory.size() >= bytes) return;
    memory = OnHost();  // freed before the new allocation
    memory = OnHost(unset(staging_), bytes);
  }
  // Places the same messages in pinned host memory, one after the other.
  void place(std::vector<Message> const& messages, OnHost& memory, std::vector<Message>& on_host) const {
    std::size_t bytes = 0;
    for (Message const& message : messages) bytes += message.bytes;
    make_room(memory, bytes);
    on_host.clear();
    bytes = 0;
    for (Message const& message : messages) {
      on_host.push_back({message.rank, memory.data() + bytes, message.bytes});
      bytes += message.bytes;
    }
  }

  // A block is copied to the host while the preceding block is sent, and to the device as soon as it has arrived.
  void staged(Exec const& exec) {
    if (sides_.empty()) make_sides(exec);
    place(out_, memory_out_, host_out_);
    place(in_, memory_in_, host_in_);
    auto const fetch = [&](std::size_t k) {
      auto const& [i, begin, end] = exchange_.sent_block(k);
      Kokkos::deep_copy(sides_[k % 2].exec(), part<Pinned>(host_out_[i], begin, end), part(out_[i], begin, end));
    };
    auto const ready = [&](std::size_t k) {
      if (k == 0) fetch(0);
      if (k + 1 < exchange_.sent_blocks()) fetch(k + 1);
      sides_[k % 2].exec().fence(on_host_);
    };
    auto const arrived = [&](MessageBlock const& one) {
      Kokkos::deep_copy(sides_[2].exec(), part(in_[one.message], one.begin, one.end),
                        part<Pinned>(host_in_[one.message], one.begin, one.end));
    };
    exchange_.in_blocks(host_out_, host_in_, block, ready, arrived);
    sides_[2].exec().fence(received_);
  }

  void make_sides(Exec const& exec) {
    for (int i = 0; i < 3; ++i) sides_.emplace_back(exec);
  }

  Ranks const& ranks_;
  std::string sent_;  // label of the fences in Kokkos' tools
  std::string on_host_;
  std::string received_;
  std::string staging_;
  Exchange exchange_;
  std::vector<Side<Exec>> sides_;  // two alternate for copies to the host, one copies back
  std::vector<Message> out_;       // to other ranks
  std::vector<Message> in_;
  std::vector<Message> host_out_;  // the same, staged
  std::vector<Message> host_in_;
  OnHost memory_out_;
  OnHost memory_in_;
};

}  // namespace tessera::ranks
