#pragma once
// Runs lane code and lets every lane check its own value. The same code runs on emulated lanes, called directly, and in
// a kernel on each enabled space, where a GPU's lanes form a warp.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera::test {

/// The results of one lane of one thread.
struct LaneTally {
  int done;
  int failed;
  int first_failed;
};

/// Compares all bytes.
template <class T>
[[nodiscard]] KOKKOS_FUNCTION bool equal_bytes(T const& a, T const& b) {
  auto const* const x = reinterpret_cast<unsigned char const*>(&a);
  auto const* const y = reinterpret_cast<unsigned char const*>(&b);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    if (x[i] != y[i]) return false;
  }
  return true;
}

/// The checks of one thread, numbered in the order of the calls.
template <lane::Lanes L>
class LaneChecker {
 public:
  template <class T>
  using Value = typename L::template Value<T>;

  KOKKOS_FUNCTION LaneChecker(L const& lanes, LaneTally* tally) : lanes_(lanes), tally_(tally) {}

  [[nodiscard]] KOKKOS_FUNCTION L const& lanes() const { return lanes_; }
  /// Returns the number of checks made.
  [[nodiscard]] KOKKOS_FUNCTION int checks() const { return checks_; }

  /// Expects lane i's value to be expected(i).
  template <class T, class Expected>
  KOKKOS_FUNCTION void holds(Value<T> const& value, Expected const& expected) {
    LaneTally* const tally = tally_;
    int const check = checks_;
    lanes_.each([&](int lane, T const& found) { note(tally[lane], check, equal_bytes<T>(found, expected(lane))); },
                value);
    ++checks_;
  }
  /// Expects a value that is uniform across lanes to be `expected` in each lane.
  template <class T>
  KOKKOS_FUNCTION void is(T const& found, T const& expected) {
    LaneTally* const tally = tally_;
    int const check = checks_;
    lanes_.each([&](int lane) { note(tally[lane], check, equal_bytes<T>(found, expected)); });
    ++checks_;
  }

 private:
  KOKKOS_FUNCTION static void note(LaneTally& tally, int check, bool right) {
    ++tally.done;
    if (!right && tally.failed++ == 0) tally.first_failed = check;
  }

  L lanes_;
  LaneTally* tally_;
  int checks_ = 0;
};

/// Returns a text about one lane that failed or skipped a check. `checks`: number of checks per thread.
template <int W>
[[nodiscard]] std::optional<std::string> lane_problem(LaneTally const* tallies, int const* checks, int threads) {
  for (int thread = 0; thread < threads; ++thread) {
    if (checks[thread] == 0) return "thread " + std::to_string(thread) + " made no checks";
    for (int lane = 0; lane < W; ++lane) {
      LaneTally const& tally = tallies[thread * W + lane];
      std::string const who =
          std::to_string(W) + " lanes: thread " + std::to_string(thread) + ", lane " + std::to_string(lane);
      if (tally.failed > 0) {
        return who + " missed " + std::to_string(tally.failed) + " checks, first " + std::to_string(tally.first_failed);
      }
      if (tally.done != checks[thread]) {
        return who + " made " + std::to_string(tally.done) + " of " + std::to_string(checks[thread]) + " checks";
      }
    }
  }
  return std::nullopt;
}

/// Runs `body(LaneChecker&, seed)` on emulated lanes, without a Kokkos kernel.
template <int W, class Body>
[[nodiscard]] std::optional<std::string> check_emulated(Body const& body) {
  std::vector<LaneTally> tallies(W, LaneTally{});
  LaneChecker<lane::Emulated<W>> checker({}, tallies.data());
  body(checker, std::uint64_t{1});
  int const checks = checker.checks();
  return lane_problem<W>(tallies.data(), &checks, 1);
}

template <class Exec, int W, class Body>
struct LaneKernel {
  using Lanes = lane::On<Exec, W>;
  using Memory = typename Exec::memory_space;

  Body body;
  Kokkos::View<LaneTally*, Memory> tallies;
  Kokkos::View<int*, Memory> checks;

  KOKKOS_FUNCTION void operator()(typename Kokkos::TeamPolicy<Exec>::member_type const& team) const {
    int const thread = team.league_rank() * team.team_size() + team.team_rank();
    LaneChecker<Lanes> checker(Lanes{}, tallies.data() + thread * W);
    // Each thread has another seed, so that a value from another thread's lanes is wrong.
    body(checker, static_cast<std::uint64_t>(thread) + 2);
    Kokkos::single(Kokkos::PerThread(team), [&] { checks(thread) = checker.checks(); });
  }
};

/// Runs the same in a kernel with `threads` threads per team.
template <class Exec, int W, class Body>
[[nodiscard]] std::optional<std::string> check_on_space(Body const& body, int threads) {
  constexpr int league = 3;
  LaneKernel<Exec, W, Body> const kernel{body, decltype(kernel.tallies)("tallies", league * threads * W),
                                         decltype(kernel.checks)("checks", league * threads)};
  Kokkos::parallel_for("lane_checks", Kokkos::TeamPolicy<Exec>(league, threads, lane::vector_length<Exec>(W)), kernel);
  auto const tallies = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, kernel.tallies);
  auto const checks = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, kernel.checks);
  auto const problem = lane_problem<W>(tallies.data(), checks.data(), league * threads);
  if (problem) return std::string(space_name<Exec>()) + ", " + std::to_string(threads) + " threads: " + *problem;
  return std::nullopt;
}

/// Returns true if a thread of the space can have W lanes: emulated lanes on hosts, at most a warp or wavefront on
/// GPUs.
template <class Exec, int W>
inline constexpr bool has_lanes = !is_gpu<Exec> || W <= (space_name<Exec>() == "cuda" ? 32 : 64);

/// Runs on emulated lanes and on every enabled space, with several team sizes.
template <int W, class Body>
[[nodiscard]] std::optional<std::string> check_everywhere(Body const& body) {
  auto problem = check_emulated<W>(body);
  for_each_type(EnabledSpaces{}, [&]<class Exec>() {
    if constexpr (has_lanes<Exec, W>) {
      // Includes odd sizes, for which the last warp of a team is not full.
      for (int const threads : {1, 2, 3, 5, 8}) {
        int const most = is_gpu<Exec> ? 256 / W : Exec().concurrency();
        if (!problem && threads <= most) problem = check_on_space<Exec, W>(body, threads);
      }
    }
  });
  return problem;
}

/// Calls `body.template operator()<W>()` for all lane widths.
template <class Body>
void for_each_width(Body&& body) {
  body.template operator()<1>();
  body.template operator()<2>();
  body.template operator()<4>();
  body.template operator()<8>();
  body.template operator()<16>();
  body.template operator()<32>();
  body.template operator()<64>();
}

}  // namespace tessera::test
