#pragma once
// Interruption: the first signal requests an end after the current sample, and the process ends within two seconds.
// Signals in the next two seconds count as the same request; a later signal kills.

#include <array>
#include <csignal>
#include <functional>
#include <thread>

namespace tessera {

/// During its lifetime, catches SIGINT, SIGTERM (which batch systems send at a job's time limit), SIGHUP and SIGXCPU.
/// Ignores SIGXFSZ and SIGPIPE, so that the write fails instead, as on a full disk. Only one object may exist at a
/// time.
class SignalGuard {
 public:
  /// `restarts_calls`: a system call that a signal interrupts is restarted, so that printing to a slow pipe does not
  /// fail. Without it the call returns, so that a caller that waits for a child notices the signal.
  explicit SignalGuard(bool restarts_calls = false);
  ~SignalGuard();
  SignalGuard(SignalGuard const&) = delete;
  SignalGuard& operator=(SignalGuard const&) = delete;

 private:
  static constexpr std::array caught{SIGINT, SIGTERM, SIGHUP, SIGXCPU};
  static constexpr std::array ignored{SIGXFSZ, SIGPIPE};
  std::array<struct sigaction, caught.size()> old_caught_{};
  std::array<struct sigaction, ignored.size()> old_ignored_{};
};

/// Returns the signal that was caught since the SignalGuard was constructed; 0: none.
[[nodiscard]] int caught_signal();

[[nodiscard]] inline bool interrupted() { return caught_signal() != 0; }

/// Ends the process if a signal does not: a reference, a kernel and the roofs do not check for signals. Must be
/// destroyed before the SignalGuard.
class Watchdog {
 public:
  /// `seconds` after a signal, calls `last_words` from a separate thread, removes unfinished files and ends the process
  /// with 128 + signal, unless it is destroyed before. Kokkos is not finalized, because its threads may be working.
  Watchdog(double seconds, std::function<void()> last_words);
  ~Watchdog();
  Watchdog(Watchdog const&) = delete;
  Watchdog& operator=(Watchdog const&) = delete;

 private:
  void watch();

  double seconds_;
  std::function<void()> last_words_;
  std::thread thread_;
};

}  // namespace tessera
