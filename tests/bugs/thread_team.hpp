#pragma once
// A team whose threads and barriers ThreadSanitizer understands: one std::thread per thread of the team.
// If a thread returns while others wait at a barrier, the program ends with a message; it does not hang.

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace bugs {

/// Counts who has arrived at a barrier and who has returned from the kernel.
class Rendezvous {
 public:
  explicit Rendezvous(int threads) : threads_(threads) {}

  /// Returns when all threads of the team have arrived.
  void arrive() {
    std::unique_lock lock(mutex_);
    int const phase = phase_;
    ++waiting_;
    complain_if_stuck();
    if (waiting_ == threads_) {
      waiting_ = 0;
      ++phase_;
      all_arrived_.notify_all();
    }
    all_arrived_.wait(lock, [&] { return phase_ != phase; });
  }

  void leave() {
    std::unique_lock const lock(mutex_);
    ++returned_;
    complain_if_stuck();
  }

 private:
  void complain_if_stuck() const {
    if (returned_ == 0 || waiting_ == 0 || returned_ + waiting_ < threads_) return;
    std::printf("team stuck: %d of %d threads wait at barrier %d, %d returned\n", waiting_, threads_, phase_ + 1,
                returned_);
    std::fflush(stdout);
    std::_Exit(3);
  }

  std::mutex mutex_;
  std::condition_variable all_arrived_;
  int threads_;
  int waiting_ = 0;
  int returned_ = 0;
  int phase_ = 0;
};

/// The team as a kernel sees it, from one thread: the part of Kokkos' interface that the programs use.
class ThreadTeam {
 public:
  ThreadTeam(int team, int rank, int threads, double* scratch, Rendezvous* rendezvous)
      : team_(team), rank_(rank), threads_(threads), scratch_(scratch), rendezvous_(rendezvous) {}
  [[nodiscard]] int league_rank() const { return team_; }
  [[nodiscard]] int team_rank() const { return rank_; }
  [[nodiscard]] int team_size() const { return threads_; }
  [[nodiscard]] double* team_scratch(int /*level*/) const { return scratch_; }
  void team_barrier() const { rendezvous_->arrive(); }

 private:
  int team_, rank_, threads_;
  double* scratch_;
  Rendezvous* rendezvous_;
};

/// Runs kernel(team) on one team after the other.
template <class Kernel>
void run_on_threads(int teams, int threads, int doubles, Kernel const& kernel) {
  for (int team = 0; team < teams; ++team) {
    std::vector<double> scratch(static_cast<std::size_t>(doubles));
    Rendezvous rendezvous(threads);
    std::vector<std::thread> all;
    for (int rank = 0; rank < threads; ++rank) {
      all.emplace_back([&, rank] {
        kernel(ThreadTeam(team, rank, threads, scratch.data(), &rendezvous));
        rendezvous.leave();
      });
    }
    for (std::thread& thread : all) thread.join();
  }
}

}  // namespace bugs
