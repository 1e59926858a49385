#pragma once
/// \file
/// The array in the host's memory: each chunk is cut into blocks, which are copied to the space, processed by their
/// chain, and copied back. All three are timed.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#include "chains.hpp"

#include <tessera/kernels/detail/launch/instances.hpp>

namespace tessera::concurrent {

/// Memory of the host from which a GPU copies without the host's help: pinned.
#ifdef KOKKOS_HAS_SHARED_HOST_PINNED_SPACE
template <ExecutionSpace Exec>
using HostMemory = std::conditional_t<is_gpu<Exec>, Kokkos::SharedHostPinnedSpace, Kokkos::HostSpace>;
#else
template <ExecutionSpace Exec>
using HostMemory = Kokkos::HostSpace;
#endif

/// Returns the blocks of each chain: as many as the parameters say, or chosen. With N blocks in all, one direction of
/// the link rests for 1/N of the time, at the start and at the end. Each block costs the time that a link takes for
/// about 2^18 bytes. Their sum is least for N = sqrt(bytes / 2^18).
///
/// Example, 4 chains of 2^30 bytes in all: 64 blocks of 2^24 bytes, 16 per chain.
[[nodiscard]] inline std::int64_t blocks_per_chain(Parameters const& parameters, std::size_t bytes) {
  if (parameters.blocks > 0) return parameters.blocks;
  double const blocks = std::sqrt(static_cast<double>(bytes) * 0x1p-18);
  auto const of_chain = static_cast<std::int64_t>(std::lround(blocks / static_cast<double>(parameters.chains)));
  return std::max<std::int64_t>(1, of_chain);
}

/// The base of Plans that work block by block: arrays in the host's memory, buffers of a block in the space's memory,
/// the three parts, and both copies at once.
template <ExecutionSpace Exec, class T>
class OfBlocks {
 public:
  OfBlocks(Exec const& exec, InputOn<Concurrent, Exec, T> const& input)
      : exec_(exec),
        chains_{input.in.extent(0), input.parameters.chains, input.parameters.kernels},
        per_chain_(blocks_per_chain(input.parameters, chains_.n * sizeof(T))),
        buffers_(unset("tessera::concurrent::buffers"), buffers * largest_block()),
        host_in_(unset("tessera::concurrent::host_in"), chains_.n),
        host_out_(unset("tessera::concurrent::host_out"), chains_.n),
        ways_(exec, 2) {
    forget_result();
  }

  /// Not timed: the input to the host's memory, where the launches expect it.
  void stage(Exec const& exec, InputOn<Concurrent, Exec, T> const& input) const {
    Kokkos::deep_copy(exec, host_in_, input.in);
  }
  /// Not timed: the result from the host's memory to the output. It is then forgotten, so that a launch that writes
  /// nothing cannot pass with the result of an earlier one.
  void complete(Exec const& exec, InputOn<Concurrent, Exec, T> const&,
                OutputOn<Concurrent, Exec, T> const& output) const {
    Kokkos::deep_copy(exec, output.out, host_out_);
    exec.fence("tessera::concurrent: result of the blocks");
    forget_result();
  }

  /// The bytes of the link between host and space: each element once in each direction.
  [[nodiscard]] Work work() const { return {.bytes = 2.0 * static_cast<double>(chains_.n * sizeof(T)), .flops = 0}; }
  /// States the roof of the GB/s: what the link moved in both directions at once, if `prediction` has timed it.
  [[nodiscard]] std::string note() const {
    if (!is_gpu<Exec>) return "";
    if (!(both_ways_seconds_ > 0)) return "GB/s of the link";
    char text[48];
    (void)std::snprintf(text, sizeof text, "link: %.1f GB/s both ways", work().bytes / both_ways_seconds_ / 1e9);
    return text;
  }

  /// Times copying in, processing and copying out, each by itself for all blocks, and then both copies at once. The two
  /// directions share the link: together they take longer than one, and no order of the blocks can be faster. Waits.
  [[nodiscard]] Prediction prediction() {
    Prediction result{.bytes = work().bytes, .longest_seconds = 0, .sum_seconds = 0};
    auto const seconds_of = [&](auto const& part) {
      return seconds_alone(exec_, 4, [&] {
        for (std::int64_t block = 0; block < blocks(); ++block) part(block);
      });
    };
    add_part(result, seconds_of([&](std::int64_t block) { copy_in(exec_, block); }));
    add_part(result,
             seconds_of([&](std::int64_t block) { process("tessera::concurrent::parts::step", exec_, block); }));
    add_part(result, seconds_of([&](std::int64_t block) { copy_out(exec_, block); }));
    both_ways_seconds_ = seconds_alone(exec_, 4, [&] { copy_both_ways(); });
    result.longest_seconds = std::max(result.longest_seconds, both_ways_seconds_);
    forget_result();
    return result;
  }

 protected:
  /// Copying in, processing and copying out go on at the same time, each with a buffer. With two, a block could be
  /// copied in only after the one before the last has been processed and copied out: the copies would wait for kernels.
  static constexpr std::int64_t buffers = 3;

  [[nodiscard]] std::int64_t blocks() const { return chains_.count * per_chain_; }

  /// Enqueues the copy of a block from the host to its buffer. Blocks use the buffers in turn.
  void copy_in(Exec const& instance, std::int64_t block) const { from_host(instance, block, buffer(block)); }
  /// Enqueues the kernels of the block's chain, in its buffer.
  void process(std::string const& label, Exec const& instance, std::int64_t block) const {
    for (std::int64_t kernel = 0; kernel < chains_.kernels; ++kernel) {
      Kokkos::parallel_for(
          label, over(instance, place(block).size),
          ChainKernel<T>{buffer(block), buffer(block), nullptr, 0, step_of(block / per_chain_, kernel)});
    }
  }
  /// Enqueues the copy of a block from its buffer to the host.
  void copy_out(Exec const& instance, std::int64_t block) const { to_host(instance, block, buffer(block)); }

 private:
  using OnHost = Array<T*, HostMemory<Exec>>;

  // Where the block lies in the array.
  [[nodiscard]] Chunk place(std::int64_t block) const {
    auto const [begin, size] = chains_.chunk(block / per_chain_);
    std::size_t const first = chunk_begin(size, per_chain_, block % per_chain_);
    return {begin + first, chunk_begin(size, per_chain_, block % per_chain_ + 1) - first};
  }
  void from_host(Exec const& instance, std::int64_t block, T* to) const {
    auto const [begin, size] = place(block);
    Kokkos::deep_copy(instance, unmanaged<typename Exec::memory_space>(to, size),
                      unmanaged<HostMemory<Exec>>(host_in_.data() + begin, size));
  }
  void to_host(Exec const& instance, std::int64_t block, T* from) const {
    auto const [begin, size] = place(block);
    Kokkos::deep_copy(instance, unmanaged<HostMemory<Exec>>(host_out_.data() + begin, size),
                      unmanaged<typename Exec::memory_space>(from, size));
  }
  // All blocks in and all blocks out, in opposite directions on two instances. Neither waits for the other, so each has
  // a buffer of its own.
  void copy_both_ways() const {
    ways_.fork(exec_);
    for (std::int64_t block = 0; block < blocks(); ++block) {
      from_host(ways_[0], block, buffer(0));
      to_host(ways_[1], block, buffer(1));
    }
    ways_.join(exec_);
  }

  // At least the largest block, and a multiple of 64 elements, so that all buffers are aligned.
  [[nodiscard]] std::size_t largest_block() const {
    std::size_t const of_chain = chains_.n / static_cast<std::size_t>(chains_.count) + 1;
    return ((of_chain / static_cast<std::size_t>(per_chain_) + 1) / 64 + 1) * 64;
  }
  [[nodiscard]] T* buffer(std::int64_t block) const {
    return buffers_.data() + static_cast<std::size_t>(block % buffers) * largest_block();
  }
  void forget_result() const { std::fill_n(host_out_.data(), chains_.n, poison_value<T>); }

  Exec exec_;
  Chains chains_;
  std::int64_t per_chain_;  // blocks
  ArrayOn<T*, Exec> buffers_;
  OnHost host_in_;
  OnHost host_out_;
  kernels::Instances<Exec> ways_;
  double both_ways_seconds_ = 0;
};

}  // namespace tessera::concurrent
