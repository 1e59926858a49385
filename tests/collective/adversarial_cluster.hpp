#pragma once
// Clusters of teams (collective/team/cluster.hpp) under an AdversarialTeam, whose threads are divided among the teams.
// One team runs at a time, from one cluster barrier to the next, and within it each thread from one team barrier to the
// next, both in orders that the test chooses. So a team barrier orders nothing between teams: what a team reads before
// another team has written it is poison, and what it writes too early, the other teams find.
// A team's scratch is poison (NaN) until its threads write it, and again as soon as they have ended.
// Threads that disagree on their next barrier make run() report an error. Include it before the kernels, as
// adversarial_league.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"

namespace tessera::test {

class AdversarialCluster {
 public:
  AdversarialCluster(int teams, int threads, std::size_t scratch_bytes)
      : threads_(threads), team_(teams * threads), teams_(static_cast<std::size_t>(teams)) {
    for (TeamState& state : teams_) state.scratch.resize(scratch_bytes / sizeof(Line) + 2);
  }

  /// One thread of one team. In a league of clusters, `cluster` of `clusters`.
  class Member {
   public:
    using Scratch = AdversarialSpace::scratch_memory_space;

    Member(AdversarialCluster* of, AdversarialTeam::Member const& member, int cluster, int clusters)
        : of_(of),
          member_(member),
          cluster_(cluster),
          clusters_(clusters),
          scratch_(of->state(cluster_rank()).begin(), static_cast<int>(of->state(cluster_rank()).bytes())) {}

    [[nodiscard]] KOKKOS_FUNCTION int team_rank() const { return member_.team_rank() % of_->threads_; }
    [[nodiscard]] KOKKOS_FUNCTION int team_size() const { return of_->threads_; }
    [[nodiscard]] KOKKOS_FUNCTION int cluster_rank() const { return member_.team_rank() / of_->threads_; }
    [[nodiscard]] KOKKOS_FUNCTION int cluster_size() const {
      KOKKOS_IF_ON_HOST((return of_->size();))
      KOKKOS_IF_ON_DEVICE((return 0;))
    }
    [[nodiscard]] KOKKOS_FUNCTION int league_rank() const { return cluster_ * cluster_size() + cluster_rank(); }
    [[nodiscard]] KOKKOS_FUNCTION int league_size() const { return clusters_ * cluster_size(); }
    [[nodiscard]] KOKKOS_FUNCTION Scratch const& team_scratch(int) const { return scratch_; }
    KOKKOS_FUNCTION void team_barrier() const { KOKKOS_IF_ON_HOST((of_->arrive(member_, At::team_barrier);)) }
    KOKKOS_FUNCTION void cluster_barrier() const { KOKKOS_IF_ON_HOST((of_->arrive(member_, At::cluster_barrier);)) }
    template <class T>
    [[nodiscard]] KOKKOS_FUNCTION T* scratch_of(int rank, T* own) const {
      KOKKOS_IF_ON_HOST((return of_->moved(cluster_rank(), rank, own);))
      KOKKOS_IF_ON_DEVICE((return own;))
    }
    KOKKOS_FUNCTION void add_to(int rank, std::uint32_t* own, std::uint32_t value) const {
      *scratch_of(rank, own) += value;  // one thread runs at a time
    }

   private:
    AdversarialCluster* of_;
    AdversarialTeam::Member member_;
    int cluster_;
    int clusters_;
    Scratch scratch_;
  };

  /// Runs `body(Member const&)` in every thread of every team, for one cluster of a league. Returns an error,
  /// if there is one.
  template <class Body>
  [[nodiscard]] std::optional<std::string> run(Order teams, Order threads, Body const& body, int cluster = 0,
                                               int clusters = 1) {
    order_ = teams;
    phase_ = 0;
    turn_ = 0;
    for (TeamState& state : teams_) {
      state.at.assign(static_cast<std::size_t>(threads_), At::work);
      poison(state);
    }
    return team_.run(threads, 1, [&](AdversarialTeam::Member const& member) {
      wait_for_turn(member);
      body(Member(this, member, cluster, clusters));
      arrive(member, At::end);
    });
  }

 private:
  enum class At : std::uint8_t { work, team_barrier, cluster_barrier, end };

  // Of the alignment of any element, so that an array has the same place in every team's scratch, as on a device.
  struct alignas(64) Line {
    char bytes[64];
  };

  struct TeamState {
    std::vector<Line> scratch;
    std::vector<At> at;  // of each thread

    [[nodiscard]] char* begin() { return scratch.front().bytes; }
    [[nodiscard]] std::size_t bytes() const { return scratch.size() * sizeof(Line); }
  };

  [[nodiscard]] int size() const { return static_cast<int>(teams_.size()); }
  [[nodiscard]] TeamState& state(int rank) { return teams_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int rank_of(AdversarialTeam::Member const& member) const { return member.team_rank() / threads_; }

  static void poison(TeamState& state) { std::fill_n(state.begin(), state.bytes(), static_cast<char>(-1)); }

  template <class T>
  [[nodiscard]] T* moved(int from, int to, T* own) {
    if (to < 0 || to >= size()) throw std::runtime_error("there is no team " + std::to_string(to) + " in its cluster");
    auto const distance = reinterpret_cast<char*>(own) - state(from).begin();
    if (distance < 0 || static_cast<std::size_t>(distance) + sizeof(T) > state(from).bytes()) {
      throw std::runtime_error("an address outside of its scratch");
    }
    return reinterpret_cast<T*>(state(to).begin() + distance);
  }

  // The team whose turn it is.
  [[nodiscard]] int running() const {
    switch (order_) {
      case Order::descending: return size() - 1 - turn_;
      case Order::rotating: return (turn_ + phase_ + 1) % size();
      default: return turn_;
    }
  }

  // A barrier of the AdversarialTeam is where its threads are switched.
  void wait_for_turn(AdversarialTeam::Member const& member) {
    while (running() != rank_of(member)) member.team_barrier();
  }

  void arrive(AdversarialTeam::Member const& member, At place) {
    int const rank = rank_of(member);
    auto const thread = static_cast<std::size_t>(member.team_rank() % threads_);
    state(rank).at[thread] = place;
    advance(rank);
    if (place == At::end) {
      // The AdversarialTeam wants its threads to return in one round.
      while (phase_ != ended || team_.barriers() <= last_round_) member.team_barrier();
    } else {
      while (state(rank).at[thread] == place || running() != rank) member.team_barrier();
    }
  }

  // Called by a thread that has stopped: if all threads of its team have, the team goes on, or the next one does.
  void advance(int rank) {
    std::vector<At>& at = state(rank).at;
    if (std::find(at.begin(), at.end(), At::work) != at.end()) return;
    if (std::adjacent_find(at.begin(), at.end(), std::not_equal_to<>()) != at.end()) {
      throw std::runtime_error("the threads of team " + std::to_string(rank) + " disagree on their next barrier");
    }
    if (at.front() == At::team_barrier) {
      at.assign(at.size(), At::work);
      return;
    }
    if (at.front() == At::end) poison(state(rank));
    if (++turn_ < size()) return;
    At const place = teams_.front().at.front();
    for (TeamState const& other : teams_) {
      if (other.at.front() != place) throw std::runtime_error("a team has ended, others wait at a cluster barrier");
    }
    turn_ = 0;
    if (place == At::end) {
      phase_ = ended;
      last_round_ = team_.barriers();
      return;
    }
    ++phase_;
    for (TeamState& each : teams_) each.at.assign(each.at.size(), At::work);
  }

  static constexpr int ended = -1;

  int threads_;
  AdversarialTeam team_;
  std::vector<TeamState> teams_;
  Order order_ = Order::ascending;
  int phase_ = 0;       // cluster barriers passed
  int last_round_ = 0;  // of the AdversarialTeam, in which the last thread ended
  int turn_ = 0;        // teams that have reached the next one
};

/// A member whose cluster barrier number `weak`, counted from 0, is only a barrier of its team: a mistake that
/// tests must find for each of a kernel's barriers.
class WeakBarrierMember : public AdversarialCluster::Member {
 public:
  WeakBarrierMember(AdversarialCluster::Member const& member, int weak) : Member(member), weak_(weak) {}

  KOKKOS_FUNCTION void cluster_barrier() const {
    if (passed_++ == weak_) {
      team_barrier();
    } else {
      Member::cluster_barrier();
    }
  }

 private:
  int weak_;
  mutable int passed_ = 0;
};

/// Team orders that show a missing barrier between two teams, whichever of them comes first.
inline constexpr Order team_orders[] = {Order::ascending, Order::descending, Order::rotating};

}  // namespace tessera::test
