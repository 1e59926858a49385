#pragma once
// The split barrier (collective/team/split_barrier.hpp) under an AdversarialTeam. Threads are switched once per phase.
// Other threads may run at any time between arrive() and wait(): in one model a thread is switched at wait(), so that
// what it does in between happens before the others have arrived; in the other model at arrive(), so that it happens
// after others have gone on to their next arrival. Code that passes with both models may do there what it does.
// A thread that waits for a phase at which not all have arrived would wait forever on a device. Here it throws, and the
// AdversarialTeam reports it.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "adversarial_team.hpp"

namespace tessera::test {

enum class Switch : std::uint8_t { at_wait, at_arrive };

// What the threads of a team share: the arrivals at each phase.
struct EmulatedBarrierState {
  std::vector<int> arrivals;
};

template <Switch where>
class EmulatedSplitBarrier {
 public:
  using State = EmulatedBarrierState;
  using Token = std::size_t;

  EmulatedSplitBarrier(AdversarialTeam::Member const& member, State* state) : member_(member), state_(state) {
    if (member.team_rank() == 0) state->arrivals.clear();
    member.team_barrier();
  }

  [[nodiscard]] Token arrive() {
    Token const token = next_++;
    if (state_->arrivals.size() <= token) state_->arrivals.resize(token + 1);
    ++state_->arrivals[token];
    if (where == Switch::at_arrive) member_.team_barrier();
    return token;
  }

  void wait(Token token) {
    if (where == Switch::at_wait) member_.team_barrier();
    if (token + 1 != next_) {
      throw std::runtime_error("it waits for phase " + std::to_string(token) + ", but has arrived at " +
                               std::to_string(next_) + " phases");
    }
    if (state_->arrivals[token] != member_.team_size()) {
      throw std::runtime_error("only " + std::to_string(state_->arrivals[token]) + " threads arrived at phase " +
                               std::to_string(token));
    }
  }

  void invalidate(AdversarialTeam::Member const& member) const { member.team_barrier(); }

 private:
  AdversarialTeam::Member member_;
  State* state_;
  Token next_ = 0;
};

}  // namespace tessera::test
