#include "interruption.hpp"

#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <utility>

#include <tessera/io/whole_file.hpp>

namespace tessera {

namespace {

// `timeout` and launchers send a signal to a process and to its group, or several signals in sequence. All signals
// within this time after the first count as one request. By then the run has ended, unless it hangs.
constexpr double burst_seconds = 2;

std::sig_atomic_t volatile last_signal = 0;
struct timespec volatile first_at;  // time of the first signal
sem_t wake;                         // wakes the Watchdog: posted by a signal, or by its destructor
std::atomic<bool> watchdog_ends{false};

extern "C" void catch_signal(int signal) {
  int const error = errno;
  struct timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  if (last_signal != 0) {
    double const since =
        static_cast<double>(now.tv_sec - first_at.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - first_at.tv_nsec);
    if (since >= burst_seconds) {
      // The default action kills the process as soon as this function returns.
      remove_unfinished_files();
      std::signal(signal, SIG_DFL);
      std::raise(signal);
    }
    errno = error;
    return;
  }
  first_at.tv_sec = now.tv_sec;
  first_at.tv_nsec = now.tv_nsec;
  last_signal = signal;
  ::sem_post(&wake);
  errno = error;
}

void wait_for_wake() {
  while (::sem_wait(&wake) != 0) {  // EINTR
  }
}

// Returns false after `seconds` seconds.
bool wait_for(double seconds) {
  struct timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  double const end = static_cast<double>(until.tv_nsec) * 1e-9 + seconds;
  until.tv_sec += static_cast<std::time_t>(end);
  until.tv_nsec = static_cast<long>((end - std::floor(end)) * 1e9);
  while (::sem_timedwait(&wake, &until) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace

int caught_signal() { return last_signal; }

SignalGuard::SignalGuard(bool restarts_calls) {
  last_signal = 0;
  ::sem_init(&wake, 0, 0);
  struct sigaction action{};
  action.sa_handler = catch_signal;
  action.sa_flags = restarts_calls ? SA_RESTART : 0;
  for (std::size_t i = 0; i < caught.size(); ++i) {
    sigaction(caught[i], &action, &old_caught_[i]);
    // A signal that is ignored stays ignored: shells start background jobs this way, and nohup its command.
    if (old_caught_[i].sa_handler == SIG_IGN) sigaction(caught[i], &old_caught_[i], nullptr);
  }
  action.sa_handler = SIG_IGN;
  for (std::size_t i = 0; i < ignored.size(); ++i) sigaction(ignored[i], &action, &old_ignored_[i]);
}

SignalGuard::~SignalGuard() {
  for (std::size_t i = 0; i < caught.size(); ++i) sigaction(caught[i], &old_caught_[i], nullptr);
  for (std::size_t i = 0; i < ignored.size(); ++i) sigaction(ignored[i], &old_ignored_[i], nullptr);
}

Watchdog::Watchdog(double seconds, std::function<void()> last_words)
    : seconds_(seconds), last_words_(std::move(last_words)) {
  watchdog_ends = false;
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  watchdog_ends = true;
  ::sem_post(&wake);
  thread_.join();
}

void Watchdog::watch() {
  do {
    wait_for_wake();
  } while (!watchdog_ends && !interrupted());
  while (!watchdog_ends) {
    if (wait_for(seconds_)) continue;
    last_words_();
    remove_unfinished_files();
    ::_exit(128 + caught_signal());
  }
}

}  // namespace tessera
