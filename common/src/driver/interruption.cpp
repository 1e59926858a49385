#include "interruption.hpp"

#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <utility>

#include <tessera/io/whole_file.hpp>

namespace tessera {

namespace {

std::sig_atomic_t volatile last_signal = 0;
sem_t wake;  // of the Watchdog: by a signal, or by its end
std::atomic<bool> watchdog_ends{false};

extern "C" void catch_signal(int signal) {
  int const error = errno;
  if (last_signal != 0) {
    // The second signal kills the process as soon as this function returns, as if it were not caught.
    remove_unfinished_files();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  last_signal = signal;
  ::sem_post(&wake);
  errno = error;
}

void wait_for_wake() {
  while (::sem_wait(&wake) != 0) {  // EINTR
  }
}

// False when a second went by.
bool wait_a_second() {
  struct timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  while (::sem_timedwait(&wake, &until) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace

int caught_signal() { return last_signal; }

SignalGuard::SignalGuard() {
  last_signal = 0;
  ::sem_init(&wake, 0, 0);
  struct sigaction action{};
  action.sa_handler = catch_signal;
  for (std::size_t i = 0; i < caught.size(); ++i) {
    sigaction(caught[i], &action, &old_caught_[i]);
    // A signal that is ignored stays ignored: so do shells start background jobs, and nohup its command.
    if (old_caught_[i].sa_handler == SIG_IGN) sigaction(caught[i], &old_caught_[i], nullptr);
  }
  action.sa_handler = SIG_IGN;
  for (std::size_t i = 0; i < ignored.size(); ++i) sigaction(ignored[i], &action, &old_ignored_[i]);
}

SignalGuard::~SignalGuard() {
  for (std::size_t i = 0; i < caught.size(); ++i) sigaction(caught[i], &old_caught_[i], nullptr);
  for (std::size_t i = 0; i < ignored.size(); ++i) sigaction(ignored[i], &old_ignored_[i], nullptr);
}

Watchdog::Watchdog(std::function<void()> last_words) : last_words_(std::move(last_words)) {
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
    if (wait_a_second()) continue;
    last_words_();
    remove_unfinished_files();
    ::_exit(128 + caught_signal());
  }
}

}  // namespace tessera
