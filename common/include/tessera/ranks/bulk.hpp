#pragma once
/// \file
/// Messages from and to the memory of an execution space, by the transport of the run.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/ranks/transport.hpp>

namespace tessera::ranks {

/// Constructed once; the first call with more data than before allocates. All ranks call it in the same order, and calls of one
/// object do not overlap.
template <ExecutionSpace Exec>
class Bulk {
 public:
  /// Bytes that are copied while the block before them is sent: long enough for full bandwidth, short beside a message.
  static constexpr std::size_t block = std::size_t{8} << 20;

  Bulk(Ranks const& ranks, std::string label) : ranks_(ranks), label_(std::move(label)) {}

  /// Sends and receives all of these, like Ranks::exchange(); the messages' memory is that of Exec. What `exec` was given
  /// before is done first; the messages are there, and may be written to again, when it returns.
  void operator()(Exec const& exec, std::vector<Message> const& sent, std::vector<Message> const& received) {
    to_itself(exec, sent, received);
    std::vector<Message> const out = to_others(sent);
    std::vector<Message> const in = to_others(received);
    Transport const way = transport(is_gpu<Exec>);
    if (way == Transport::staged) {
      staged(exec, out, in);
    } else if constexpr (is_gpu<Exec>) {
      if (way == Transport::nccl) {
        ranks_.exchange_on_gpus(out, in, stream_of(exec), [&] { exec.fence(label_ + ": by NCCL"); });
      } else {
        exec.fence(label_ + ": sent");
        ranks_.exchange(out, in);
      }
    } else {
      exec.fence(label_ + ": sent");
      ranks_.exchange(out, in);
    }
  }

 private:
  using Memory = typename Exec::memory_space;
  using OnHost = Kokkos::View<unsigned char*, Kokkos::SharedHostPinnedSpace>;
  using HostPart = Kokkos::View<unsigned char*, Kokkos::SharedHostPinnedSpace, Kokkos::MemoryUnmanaged>;
  using Part = Kokkos::View<unsigned char*, Memory, Kokkos::MemoryUnmanaged>;

  [[nodiscard]] static Part part(Message const& message, std::size_t begin, std::size_t end) {
    return Part(static_cast<unsigned char*>(message.data) + begin, end - begin);
  }
  [[nodiscard]] static HostPart host_part(Message const& message, std::size_t begin, std::size_t end) {
    return HostPart(static_cast<unsigned char*>(message.data) + begin, end - begin);
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

  // Messages to this rank itself are copies, in the order of the lists.
  void to_itself(Exec const& exec, std::vector<Message> const& sent, std::vector<Message> const& received) const {
    auto to = received.begin();
    for (Message const& message : sent) {
      if (message.rank != ranks_.rank()) continue;
      to = std::find_if(to, received.end(), [&](Message const& one) { return one.rank == ranks_.rank(); });
      if (message.bytes > 0) Kokkos::deep_copy(exec, part(*to, 0, to->bytes), part(message, 0, message.bytes));
      ++to;
    }
  }
  [[nodiscard]] std::vector<Message> to_others(std::vector<Message> const& messages) const {
    std::vector<Message> others;
    for (Message const& message : messages) {
      if (message.rank != ranks_.rank()) others.push_back(message);
    }
    return others;
  }

  // The same messages in pinned host memory, one after the other.
  [[nodiscard]] std::vector<Message> on_host(std::vector<Message> const& messages, OnHost& memory) const {
    std::size_t bytes = 0;
    for (Message const& message : messages) bytes += message.bytes;
    if (memory.size() < bytes) {
      memory = OnHost();  // before the new one is made
      memory = OnHost(Kokkos::view_alloc(Kokkos::WithoutInitializing, label_ + "::staged"), bytes);
    }
    std::vector<Message> staged;
    bytes = 0;
    for (Message const& message : messages) {
      staged.push_back({message.rank, memory.data() + bytes, message.bytes});
      bytes += message.bytes;
    }
    return staged;
  }

  // A block goes to the host while the one before it is sent, and to the device as soon as it is there.
  void staged(Exec const& exec, std::vector<Message> const& sent, std::vector<Message> const& received) {
    exec.fence(label_ + ": sent");
    if (sides_.empty()) make_sides(exec);
    std::vector<Message> const out = on_host(sent, out_);
    std::vector<Message> const in = on_host(received, in_);
    std::vector<MessageBlock> const blocks = blocks_of(sent, block);
    auto const fetch = [&](std::size_t k) {
      auto const& [i, begin, end] = blocks[k];
      Kokkos::deep_copy(sides_[k % 2], host_part(out[i], begin, end), part(sent[i], begin, end));
    };
    auto const ready = [&](std::size_t k) {
      if (k == 0) fetch(0);
      if (k + 1 < blocks.size()) fetch(k + 1);
      sides_[k % 2].fence(label_ + ": a block on the host");
    };
    auto const arrived = [&](MessageBlock const& one) {
      Kokkos::deep_copy(sides_[2], part(received[one.message], one.begin, one.end),
                        host_part(in[one.message], one.begin, one.end));
    };
    ranks_.exchange_in_blocks(out, in, block, ready, arrived);
    sides_[2].fence(label_ + ": received");
  }

  // Three streams of a GPU: two to the host in turn, one back.
  void make_sides(Exec const& exec) {
    if constexpr (is_gpu<Exec>) {
      auto const streams = Kokkos::Experimental::partition_space(exec, 1, 1, 1);
      sides_.assign(streams.begin(), streams.end());
    } else {
      sides_.assign(3, exec);
    }
  }

  Ranks const& ranks_;
  std::string label_;
  std::vector<Exec> sides_;
  OnHost out_;
  OnHost in_;
};

}  // namespace tessera::ranks
