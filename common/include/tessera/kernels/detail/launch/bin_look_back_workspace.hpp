#pragma once
/// \file
/// The memory of a look-back with one count per bin (collective/bin_look_back.hpp), kept from launch to launch.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/bin_look_back.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::kernels {

/// Memory for launches of at most `tiles` tiles with `bins` bins, in which no count exceeds `most` (below 2^29). One
/// object serves one launch at a time.
template <ExecutionSpace Exec>
class BinLookBackWorkspace {
 public:
  using Handle = collective::BinLookBackHandle;
  static constexpr std::size_t most_items = (std::size_t{1} << 29) - 1;  ///< leaves one bit for the epoch

  BinLookBackWorkspace(std::string const& label, std::size_t tiles, int bins, std::size_t most)
      : bins_(bins),
        count_bits_(std::max(1, static_cast<int>(std::bit_width(most)))),
        words_(label + "::words", tiles * bins),
        counter_(label + "::counter") {}
  // A copy would share the counter on the device, but not the number of its next ticket.
  BinLookBackWorkspace(BinLookBackWorkspace const&) = delete;
  BinLookBackWorkspace& operator=(BinLookBackWorkspace const&) = delete;
  BinLookBackWorkspace(BinLookBackWorkspace&&) = default;
  BinLookBackWorkspace& operator=(BinLookBackWorkspace&&) = default;
  ~BinLookBackWorkspace() = default;

  /// Returns the handle for the next launch, which must draw exactly `tiles` tickets. Enqueues nothing, except when the
  /// epochs are used up: then it clears the words.
  [[nodiscard]] Handle next_launch(Exec const& exec, std::size_t tiles) {
    if (++epoch_ == std::uint32_t{1} << (30 - count_bits_)) {
      Kokkos::deep_copy(exec, words_, 0U);
      epoch_ = 1;
    }
    std::uint32_t const first = next_ticket_;
    next_ticket_ += static_cast<std::uint32_t>(tiles);
    return {words_.data(), counter_.data(), first, epoch_, bins_, count_bits_};
  }

 private:
  using Memory = typename Exec::memory_space;
  int bins_;
  int count_bits_;
  Kokkos::View<std::uint32_t*, Memory> words_;
  Kokkos::View<std::uint32_t, Memory> counter_;
  std::uint32_t epoch_ = 0;
  std::uint32_t next_ticket_ = 0;
};

}  // namespace tessera::kernels
