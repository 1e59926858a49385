#pragma once
/// \file
/// The memory of a decoupled look-back (collective/look_back.hpp), kept from launch to launch.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <tessera/collective/look_back.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::kernels {

/// Memory for a look-back over `tiles` tiles of values V. One object serves one launch at a time.
template <ExecutionSpace Exec, class V>
class LookBackWorkspace {
 public:
  using Word = collective::LookBackWord<Exec, V>;
  using Handle = collective::LookBackHandle<V, Word>;

  LookBackWorkspace(std::string const& label, std::size_t tiles)
      : tiles_(tiles),
        words_(label + "::words", tiles),
        partial_(unset(label + "::partial"), Handle::packed ? 0 : tiles),
        inclusive_(unset(label + "::inclusive"), Handle::packed ? 0 : tiles),
        counter_(label + "::counter") {}
  // A copy would share the counter on the device, but not the number of its next ticket.
  LookBackWorkspace(LookBackWorkspace const&) = delete;
  LookBackWorkspace& operator=(LookBackWorkspace const&) = delete;
  LookBackWorkspace(LookBackWorkspace&&) = default;
  LookBackWorkspace& operator=(LookBackWorkspace&&) = default;
  ~LookBackWorkspace() = default;

  /// Returns the handle for the next launch, which must draw exactly `tiles` tickets. Enqueues nothing, except once in
  /// 2^30 launches, when it clears the memory.
  /// \param patience nanoseconds for which a team of a GPU waits before it reads its predecessors
  [[nodiscard]] Handle next_launch(Exec const& exec, unsigned patience = 2500) {
    if (++epoch_ == last_epoch) {
      Kokkos::deep_copy(exec, words_, Word{});
      epoch_ = 1;
    }
    std::uint32_t const first = next_ticket_;
    next_ticket_ += static_cast<std::uint32_t>(tiles_);
    return {words_.data(), partial_.data(), inclusive_.data(),           counter_.data(),
            first,         epoch_,          is_long(exec) ? patience : 0};
  }

 private:
  // False if tiles are few: then all teams are resident, and every later team waits for each of them. On a GPU a team
  // has about 256 lanes.
  [[nodiscard]] bool is_long(Exec const& exec) const {
    return is_gpu<Exec> && tiles_ > static_cast<std::size_t>(exec.concurrency()) / 256;
  }

  // The state takes two bits of the tag, which leaves 30 bits for the epoch.
  static constexpr std::uint32_t last_epoch = std::uint32_t{1} << 30;

  using Memory = typename Exec::memory_space;
  std::size_t tiles_;
  Kokkos::View<Word*, Memory> words_;
  Kokkos::View<V*, Memory> partial_;
  Kokkos::View<V*, Memory> inclusive_;
  Kokkos::View<std::uint32_t, Memory> counter_;
  std::uint32_t epoch_ = 0;
  std::uint32_t next_ticket_ = 0;
};

}  // namespace tessera::kernels
