#pragma once
// What the programs of this folder share: the switch --fixed, the check of a result, and the launch of teams.

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <type_traits>

#include <Kokkos_Core.hpp>

#if defined(__SANITIZE_THREAD__)
#include "thread_team.hpp"
#endif

namespace bugs {

using Exec = Kokkos::DefaultExecutionSpace;
using Doubles = Kokkos::View<double*, Exec>;
using Scratch = Kokkos::View<double*, Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Returns whether the program was called with --fixed, without the planted mistake.
inline bool is_fixed(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](char const* word) { return std::string_view(word) == "--fixed"; });
}

/// Returns a View of n elements with the values first, first + 1, ...
inline Doubles count_from(double first, int n) {
  Doubles view("numbers", n);
  auto const host = Kokkos::create_mirror_view(view);
  for (int i = 0; i < n; ++i) host(i) = first + i;
  Kokkos::deep_copy(view, host);
  return view;
}

/// Compares each element with expected(i). Says what is wrong and returns 1, or returns 0.
template <class Expected>
int check(Doubles const& result, Expected const& expected) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), result);
  for (int i = 0; i < static_cast<int>(host.extent(0)); ++i) {
    if (!(host(i) == expected(i))) {
      std::printf("wrong: element %d is %.10g, expected %.10g\n", i, host(i), expected(i));
      return 1;
    }
  }
  std::printf("right: %zu elements\n", host.extent(0));
  return 0;
}

/// Returns the number of threads per team: at most 4 on a host, two warps on a GPU.
inline int team_threads() {
#if defined(__SANITIZE_THREAD__)
  return 4;
#else
  if constexpr (std::is_same_v<Exec, Kokkos::DefaultHostExecutionSpace>) {
    return std::min(4, Exec().concurrency());
  } else {
    return 64;
  }
#endif
}

/// Runs kernel(team) on `teams` teams of team_threads() threads, each team with scratch for `doubles` elements.
template <class Kernel>
void for_each_team(char const* label, int teams, int doubles, Kernel const& kernel) {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not see the barriers of Kokkos and OpenMP, whose libraries are compiled without it.
  (void)label;
  run_on_threads(teams, team_threads(), doubles, kernel);
#else
  auto policy = Kokkos::TeamPolicy<Exec>(teams, team_threads());
  policy.set_scratch_size(0, Kokkos::PerTeam(Scratch::shmem_size(doubles)));
  Kokkos::parallel_for(label, policy, kernel);
  Kokkos::fence();
#endif
}

}  // namespace bugs
