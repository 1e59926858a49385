#pragma once
// Interruption: the first signal asks for an end after the current sample, and gets one within two seconds. Those of the next two
// seconds are the same request; a later one kills.

#include <array>
#include <csignal>
#include <functional>
#include <thread>

namespace tessera {

/// From construction to destruction it catches SIGINT, SIGTERM (which batch systems send at a job's time limit), SIGHUP
/// and SIGXCPU. It ignores SIGXFSZ and SIGPIPE, so that the write fails instead, as on a full disk. One object at a
/// time.
class SignalGuard {
 public:
  /// `restarts_calls`: a call of the system that a signal comes into goes on after it, so that printing to a slow pipe does not
  /// fail. Without it such a call returns, so that who waits for a child sees the signal.
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

/// The signal that was caught since the SignalGuard was constructed; 0: none.
[[nodiscard]] int caught_signal();

[[nodiscard]] inline bool interrupted() { return caught_signal() != 0; }

/// Ends the process when a signal alone does not: a reference, a kernel and the roofs do not look for signals. Lives
/// within a SignalGuard.
class Watchdog {
 public:
  /// `seconds` after a signal calls `last_words` from a thread of its own, removes unfinished files and ends the process
  /// with 128 + signal, unless it is destroyed before that. Kokkos is not finalized: its threads may be at work.
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
