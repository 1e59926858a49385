#pragma once
// Collectives that scan or reduce a tile in scratch, as cases of one test: scratch size, call, expected result. The
// same cases run under AdversarialTeam and under Kokkos' teams.

#include <cstddef>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/team/bank_padded.hpp>
#include <tessera/collective/team/blelloch.hpp>
#include <tessera/collective/team/fold_halves.hpp>
#include <tessera/collective/team/fold_pairs.hpp>
#include <tessera/collective/team/hillis_steele.hpp>
#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/collective/team/run_scan.hpp>
#include <tessera/collective/team/tree_reduce.hpp>

#include "operators_for_tests.hpp"

namespace tessera::test {

/// The state that a collective leaves, as one thread sees it on return.
template <class T>
struct TileResult {
  T const* scan;  // null if there is no scan
  T total;
};

template <class Op>
struct TreeReduceCase {
  using Operator = Op;
  using T = typename Op::Value;
  static constexpr int least = 1;

  [[nodiscard]] KOKKOS_FUNCTION int scratch_values(int n, int) const { return n; }
  template <class M, class L>
  [[nodiscard]] KOKKOS_FUNCTION TileResult<T> run(M const& team, L const&, T* data, int n) const {
    team::tree_reduce(team, data, n, Op{});
    return {nullptr, data[0]};
  }
  /// Returns the scan (identities if there is none) and the total (identity if it is not returned).
  [[nodiscard]] std::vector<T> expected(std::vector<T> const& in) const {
    std::vector<T> result(in.size(), Op{}.identity());
    result.push_back(serial_reduce(in, Op{}));
    return result;
  }
  [[nodiscard]] std::string name() const { return "tree_reduce"; }
};

/// n values in scratch, as the collectives expect them.
template <class T>
using ScratchValues = Kokkos::View<T*, Kokkos::AnonymousSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class Op>
struct FoldHalvesCase : TreeReduceCase<Op> {
  using T = typename Op::Value;

  template <class M, class L>
  [[nodiscard]] KOKKOS_FUNCTION TileResult<T> run(M const& team, L const&, T* data, int n) const {
    team::fold_halves(team, ScratchValues<T>(data, n), n, Op{});
    return {nullptr, data[0]};
  }
  [[nodiscard]] std::string name() const { return "fold_halves"; }
};

template <class Op>
struct FoldPairsCase : TreeReduceCase<Op> {
  using T = typename Op::Value;

  template <class M, class L>
  [[nodiscard]] KOKKOS_FUNCTION TileResult<T> run(M const& team, L const&, T* data, int n) const {
    team::fold_pairs(team, ScratchValues<T>(data, n), n, Op{});
    return {nullptr, data[0]};
  }
  [[nodiscard]] std::string name() const { return "fold_pairs"; }
};

template <class Op>
struct HillisSteeleCase {
  using Operator = Op;
  using T = typename Op::Value;
  static constexpr int least = 0;

  [[nodiscard]] KOKKOS_FUNCTION int scratch_values(int n, int) const { return 2 * n; }
  template <class M, class L>
  [[nodiscard]] KOKKOS_FUNCTION TileResult<T> run(M const& team, L const&, T* data, int n) const {
    return {team::hillis_steele(team, ScratchValues<T>(data, n), ScratchValues<T>(data + n, n), n, Op{}).data(),
            Op{}.identity()};
  }
  [[nodiscard]] std::vector<T> expected(std::vector<T> const& in) const {
    auto result = serial_inclusive(in, Op{});
    result.push_back(Op{}.identity());
    return result;
  }
  [[nodiscard]] std::string name() const { return "hillis_steele"; }
};

template <class Op, int Items>
struct HillisSteeleInPlaceCase {
  using Operator = Op;
  using T = typename Op::Value;
  static constexpr int least = 0;

  [[nodiscard]] KOKKOS_FUNCTION int scratch_values(int n, int) const { return n; }
  template <class M, class L>
  [[nodiscard]] KOKKOS_FUNCTION TileResult<T> run(M const& team, L const&, T* data, int n) const {
    team::hillis_steele_in_place<Items>(team, ScratchValues<T>(data, n), n, Op{});
    return {data, Op{}.identity()};
  }
  [[nodiscard]] std::vector<T> expected(std::vector<T> const& in) const { return HillisSteeleCase<Op>{}.expected(in); }
  [[nodiscard]] std::string name() const { return "hillis_steele_in_place of " + std::to_string(Items) + " items"; }
};

template <class Op>
struct BlellochCase {
  using Operator = Op;
  using T = typename Op::Value;
  static constexpr int least = 0;

  [[nodiscard]] KOKKOS_FUNCTION int scratch_values(int n, int) const { return team::blelloch_leaves(n) + 1; }
  template <class M, class L>
  [[nodiscard]] KOKKOS_FUNCTION TileResult<T> run(M const& team, L const&, T* data, int n) const {
    T const total = team::blelloch(team, ScratchValues<T>(data, scratch_values(n, 0)), n, Op{});
    return {data, total};
  }
  [[nodiscard]] std::vector<T> expected(std::vector<T> const& in) const {
    auto result = serial_exclusive(in, Op{});
    result.push_back(serial_reduce(in, Op{}));
    return result;
  }
  [[nodiscard]] std::string name() const { return "blelloch"; }
};

/// The same in rows of Row values: copied to padded positions after filling, and back before checking.
template <class Op, int Row>
struct BlellochPaddedCase : BlellochCase<Op> {
  using T = typename Op::Value;

  [[nodiscard]] KOKKOS_FUNCTION static int places(int n) {
    return team::padded_length(team::blelloch_leaves(n) + 1, Row);
  }
  [[nodiscard]] KOKKOS_FUNCTION int scratch_values(int n, int) const { return n + places(n); }
  template <class M, class L>
  [[nodiscard]] KOKKOS_FUNCTION TileResult<T> run(M const& team, L const&, T* data, int n) const {
    team::BankPadded<ScratchValues<T>, Row> const tree{ScratchValues<T>(data + n, places(n))};
    team.team_barrier();
    for (int i = team.team_rank(); i < n; i += team.team_size()) tree(i) = data[i];
    T const total = team::blelloch(team, tree, n, Op{});
    for (int i = team.team_rank(); i < n; i += team.team_size()) data[i] = tree(i);
    team.team_barrier();
    return {data, total};
  }
  [[nodiscard]] std::string name() const { return "blelloch in rows of " + std::to_string(Row); }
};

template <class Op>
struct RunScanCase {
  using Operator = Op;
  using T = typename Op::Value;
  static constexpr int least = 0;

  int length;

  [[nodiscard]] KOKKOS_FUNCTION int scratch_values(int n, int) const { return n + 2 * ((n + length - 1) / length); }
  template <class M, class L>
  [[nodiscard]] KOKKOS_FUNCTION TileResult<T> run(M const& team, L const&, T* data, int n) const {
    int const runs = (n + length - 1) / length;
    team::run_scan(team, ScratchValues<T>(data, n), ScratchValues<T>(data + n, runs),
                   ScratchValues<T>(data + n + runs, runs), n, length, Op{});
    return {data, Op{}.identity()};
  }
  [[nodiscard]] std::vector<T> expected(std::vector<T> const& in) const { return HillisSteeleCase<Op>{}.expected(in); }
  [[nodiscard]] std::string name() const { return "run_scan of runs of " + std::to_string(length); }
};

template <class Op>
struct LaneScanCase {
  using Operator = Op;
  using T = typename Op::Value;
  static constexpr int least = 0;

  [[nodiscard]] KOKKOS_FUNCTION int scratch_values(int n, int threads) const { return n + threads; }
  template <class M, class L>
  [[nodiscard]] KOKKOS_FUNCTION TileResult<T> run(M const& team, L const& lanes, T* data, int n) const {
    team::lane_scan(team, lanes, data, data + n, n, Op{});
    return {data, Op{}.identity()};
  }
  [[nodiscard]] std::vector<T> expected(std::vector<T> const& in) const { return HillisSteeleCase<Op>{}.expected(in); }
  [[nodiscard]] std::string name() const { return "lane_scan"; }
};

/// One thread's part of a case: fills scratch, calls the collective and immediately records the visible state in
/// `seen`, n + 1 values per thread. It adds no barriers: the collective promises that none is needed before it and that
/// all threads may read the result after it. Elements are filled by other threads than those that process them first.
template <class Case, class M, class L, class T>
KOKKOS_FUNCTION void fill_run_look(Case const& tested, M const& team, L const& lanes, T const* in, int n, T* scratch,
                                   T* seen) {
  lanes.each([&](int lane) {
    if (lane != 0) return;
    for (int i = team.team_size() - 1 - team.team_rank(); i < n; i += team.team_size()) scratch[i] = in[i];
  });
  TileResult<T> const result = tested.run(team, lanes, scratch, n);
  lanes.each([&](int lane) {
    if (lane != 0) return;
    T* const own = seen + static_cast<std::size_t>(team.team_rank()) * (n + 1);
    for (int i = 0; i < n; ++i) own[i] = result.scan != nullptr ? result.scan[i] : typename Case::Operator{}.identity();
    own[n] = result.total;
  });
}

/// Three rounds of scan_threads that record `before` and `total` of each lane. The two halves of scratch alternate, as
/// in the suite's loops over tiles, so that the barrier inside is the only one.
template <class Op, class M, class L, class T>
KOKKOS_FUNCTION void scan_threads_rounds(M const& team, L const& lanes, T const* in, T* scratch, T* seen) {
  for (int round = 0; round < 3; ++round) {
    T const value = in[round * team.team_size() + team.team_rank()];
    auto const result = team::scan_threads(team, lanes, value, scratch + (round % 2) * team.team_size(), Op{});
    lanes.each([&](int lane) {
      T* const own = seen + 2 * ((round * team.team_size() + team.team_rank()) * L::width + lane);
      own[0] = result.before;
      own[1] = result.total;
    });
  }
}

/// Returns the expected records of these rounds.
template <class Op, class T>
[[nodiscard]] std::vector<T> scan_threads_expected(std::vector<T> const& in, int threads, int width) {
  std::vector<T> result;
  for (int round = 0; round < 3; ++round) {
    std::vector<T> const values(in.begin() + round * threads, in.begin() + (round + 1) * threads);
    auto const before = serial_exclusive(values, Op{});
    for (int thread = 0; thread < threads; ++thread) {
      for (int lane = 0; lane < width; ++lane) {
        result.push_back(before[static_cast<std::size_t>(thread)]);
        result.push_back(serial_reduce(values, Op{}));
      }
    }
  }
  return result;
}

}  // namespace tessera::test
