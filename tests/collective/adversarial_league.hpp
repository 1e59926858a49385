#pragma once
// A league of AdversarialTeams, for kernels that are functors of a TeamPolicy's member. Include it before the kernels:
// they use only the Kokkos functions declared by then.

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include "adversarial_team.hpp"

namespace tessera::test {

/// An "execution space" whose teams are AdversarialTeams, for kernels that are functors of a TeamPolicy's member.
struct AdversarialSpace {
  using execution_space = AdversarialSpace;
  using memory_space = Kokkos::HostSpace;
  using scratch_memory_space = Kokkos::DefaultHostExecutionSpace::scratch_memory_space;
};

/// One thread of one team in a league. The teams run one after another in the same scratch.
class LeagueMember {
 public:
  using Scratch = AdversarialSpace::scratch_memory_space;

  /// \param watch called by each thread that arrives at a barrier, for what other teams could see by then
  LeagueMember(AdversarialTeam::Member const& member, int league_rank, void* scratch, int scratch_bytes,
               int league_size = 1, std::function<void()> const* watch = nullptr)
      : member_(member),
        league_rank_(league_rank),
        league_size_(league_size),
        scratch_(scratch, scratch_bytes),
        watch_(watch) {}

  [[nodiscard]] KOKKOS_FUNCTION int league_rank() const { return league_rank_; }
  [[nodiscard]] KOKKOS_FUNCTION int league_size() const { return league_size_; }
  [[nodiscard]] KOKKOS_FUNCTION int team_rank() const { return member_.team_rank(); }
  [[nodiscard]] KOKKOS_FUNCTION int team_size() const { return member_.team_size(); }
  KOKKOS_FUNCTION void team_barrier() const {
    KOKKOS_IF_ON_HOST((if (watch_ != nullptr)(*watch_)();))
    member_.team_barrier();
  }
  [[nodiscard]] KOKKOS_FUNCTION Scratch const& team_scratch(int) const { return scratch_; }

 private:
  AdversarialTeam::Member member_;
  int league_rank_;
  int league_size_;
  Scratch scratch_;
  std::function<void()> const* watch_;
};

/// Runs a kernel that states its scratch size per team: `teams` teams of `threads` threads, one after another in the
/// same scratch, which initially holds NaN.
template <class Kernel>
void run_league(Kernel const& kernel, int teams, int threads, Order order) {
  AdversarialTeam team(threads);
  std::vector<char> scratch(Kernel::scratch_bytes() + 64, static_cast<char>(-1));
  std::optional<std::string> const error = team.run(order, 1, [&](AdversarialTeam::Member const& member) {
    for (int rank = 0; rank < teams; ++rank) {
      kernel(LeagueMember(member, rank, scratch.data(), static_cast<int>(scratch.size())));
    }
  });
  EXPECT_EQ(error.value_or(""), "");
}

/// One thread of a model of a team: LeagueMember, and AdversarialCluster::Member.
template <class M>
concept ModelMember = requires {
  typename M::Scratch;
  requires std::same_as<typename M::Scratch, AdversarialSpace::scratch_memory_space>;
};

/// The indices 0 .. count - 1, shared by the threads of a team as on a GPU: thread t gets t, t + threads, ...
struct SharedIndices {
  int thread;
  int threads;
  int count;
};

}  // namespace tessera::test

/// The Kokkos functions that kernels call, for one thread of the team. Lanes are emulated, so a thread is its only
/// lane.
namespace Kokkos {

template <tessera::test::ModelMember Member>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Impl::ThreadSingleStruct<Member> PerTeam(Member const& team) {
  return {team};
}
template <tessera::test::ModelMember Member>
[[nodiscard]] KOKKOS_INLINE_FUNCTION Impl::VectorSingleStruct<Member> PerThread(Member const& team) {
  return {team};
}
template <tessera::test::ModelMember Member>
[[nodiscard]] KOKKOS_INLINE_FUNCTION tessera::test::SharedIndices TeamThreadRange(Member const& team, int count) {
  return {team.team_rank(), team.team_size(), count};
}
template <tessera::test::ModelMember Member>
[[nodiscard]] KOKKOS_INLINE_FUNCTION tessera::test::SharedIndices TeamVectorRange(Member const& team, int count) {
  return {team.team_rank(), team.team_size(), count};
}
template <class Body>
KOKKOS_FUNCTION void parallel_for(tessera::test::SharedIndices const& indices, Body const& body) {
  for (int i = indices.thread; i < indices.count; i += indices.threads) body(i);
}
template <tessera::test::ModelMember Member, class Body>
KOKKOS_FUNCTION void single(Impl::ThreadSingleStruct<Member> const& of, Body const& body) {
  if (of.team_member.team_rank() == 0) body();
}
template <tessera::test::ModelMember Member, class Body>
KOKKOS_FUNCTION void single(Impl::VectorSingleStruct<Member> const&, Body const& body) {
  body();
}

}  // namespace Kokkos

template <class... Properties>
class Kokkos::TeamPolicy<tessera::test::AdversarialSpace, Properties...> {
 public:
  using member_type = tessera::test::LeagueMember;
};
