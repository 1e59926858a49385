// Wrong scans must be caught: typical mistakes of the book's puzzles (one block, several blocks) and of single-pass
// scans.

#include "broken_rows.hpp"

#include <array>
#include <cmath>

#include "../../apps/prefix_sum/problem.hpp"
#include "../../apps/prefix_sum/scan_plan.hpp"

#include <tessera/collective/team/bank_padded.hpp>
#include <tessera/collective/team/blelloch.hpp>
#include <tessera/kernels/detail/scan/scan_elements.hpp>
#include <tessera/kernels/two_level_scan.hpp>

namespace tessera::prefix_sum {
namespace {

constexpr std::size_t tile = 8;

// Scans tile after tile; `Mistake` chooses what is added to each tile.
enum class Mistake { none, previous_tile_only, skips_last_tile, not_shifted };

template <class T>
struct ScanTile {
  T const* in;
  T* out;
  std::size_t n;
  Mistake mistake;

  KOKKOS_FUNCTION void operator()(std::size_t own) const {
    collective::Sum<T> const add;
    std::size_t const begin = own * tile;
    T running = 0;
    // Adds only the previous tile instead of all: right for two tiles, wrong from the third on.
    std::size_t const from = mistake == Mistake::previous_tile_only && own > 0 ? begin - tile : 0;
    for (std::size_t i = from; i < begin; ++i) running = add(running, in[i]);
    if (mistake == Mistake::skips_last_tile && begin + tile >= n) return;
    for (std::size_t i = begin; i < begin + tile && i < n; ++i) {
      if (mistake == Mistake::not_shifted) out[i] = running;
      running = add(running, in[i]);
      if (mistake != Mistake::not_shifted) out[i] = running;
    }
  }
};

// A scan with one mistake.
struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<PrefixSum, Exec, T> const& in,
                  OutputOn<PrefixSum, Exec, T> const& out) const {
    std::size_t const n = in.in.extent(0);
    Kokkos::parallel_for("tessera::tests::broken_prefix_sum", Kokkos::RangePolicy<Exec>(exec, 0, (n + tile - 1) / tile),
                         ScanTile<T>{in.in.data(), out.out.data(), n, mistake});
  }
};

// The sweeps of read_write_split. A thread writes what it has read either at once (the mistake) or after all threads
// have read.
template <bool waits>
struct SplitTile : kernels::TileScanInScratch {
  static constexpr int values_per_element = 1;
  [[nodiscard]] static std::array<int, 1> scratch(int of_tile, int) { return {of_tile}; }
  [[nodiscard]] static double rounding_steps(int of_tile, int) { return std::ceil(std::log2(of_tile)); }

  template <class Member, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(Member const& team, Values const& data, int n,
                                                                        Op const& op) {
    constexpr int most = 512;  // elements per thread
    int const threads = team.team_size();
    for (int distance = 1; distance < n; distance *= 2) {
      typename Values::non_const_value_type before[most];
      team.team_barrier();
      for (int k = 0, i = team.team_rank(); i < n; ++k, i += threads) {
        if (i >= distance) before[k] = data(i - distance);
      }
      if (waits) team.team_barrier();
      for (int k = 0, i = team.team_rank(); i < n; ++k, i += threads) {
        if (i >= distance) data(i) = op(before[k], data(i));
      }
    }
    team.team_barrier();
    return {data, true, op.identity()};
  }
};

// The sweeps of blelloch_padded; one of them may ignore that the tile's indices are padded.
enum class Forgets { nothing, up, down };

template <Forgets F>
struct PaddedTile : kernels::TileScanInScratch {
  template <class Values>
  using Tile = team::BankPadded<Values>;
  [[nodiscard]] static std::array<int, 1> scratch(int of_tile, int) {
    return {team::padded_length(team::blelloch_leaves(of_tile), team::bank_row<double>)};  // the most padding
  }
  [[nodiscard]] static double rounding_steps(int of_tile, int) { return 2 * std::ceil(std::log2(of_tile)); }

  template <class Member, class Values, class Op>
  [[nodiscard]] KOKKOS_FUNCTION static kernels::ScannedTile<Values> run(Member const& team, Values const& tile, int n,
                                                                        Op const& op) {
    using Value = typename Values::non_const_value_type;
    int const leaves = team::blelloch_leaves(n);
    auto const up = [&](int i) -> Value& { return F == Forgets::up ? tile.values(i) : tile(i); };
    auto const down = [&](int i) -> Value& { return F == Forgets::down ? tile.values(i) : tile(i); };
    for (int i = n + team.team_rank(); i < leaves; i += team.team_size()) tile(i) = op.identity();
    for (int stride = 1; stride < leaves; stride *= 2) {
      team.team_barrier();
      for (int right = 2 * stride * (team.team_rank() + 1) - 1; right < leaves;
           right += 2 * stride * team.team_size()) {
        up(right) = op(up(right - stride), up(right));
      }
    }
    team.team_barrier();
    Value const total = up(leaves - 1);
    team.team_barrier();
    if (team.team_rank() == 0) down(leaves - 1) = op.identity();
    for (int stride = leaves / 2; stride >= 1; stride /= 2) {
      team.team_barrier();
      for (int right = 2 * stride * (team.team_rank() + 1) - 1; right < leaves;
           right += 2 * stride * team.team_size()) {
        Value const left_subtree = down(right - stride);
        down(right - stride) = down(right);
        down(right) = op(down(right), left_subtree);
      }
    }
    team.team_barrier();
    return {tile, false, total};
  }
};

// Sums by one of these scans of tiles.
template <class TileScan>
struct Sums {
  static constexpr VariantInfo info{.name = "sums", .summary = "sums by a scan of tiles that may be wrong"};
  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::TwoLevelScan<Exec, T, collective::Sum<T>, TileScan> {
    Plan(Exec const& exec, InputOn<PrefixSum, Exec, T> const& in)
        : Plan::TwoLevelScan(exec, in.in.extent(0), {}, in.parameters.tile, in.parameters.team,
                             "tessera::tests::sums") {}
    void operator()(Exec const& exec, InputOn<PrefixSum, Exec, T> const& in,
                    OutputOn<PrefixSum, Exec, T> const& out) const {
      Plan::TwoLevelScan::operator()(exec, in.in, out.out);
    }
    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "out"}}; }
  };
};

// The tiles' totals after their own scan, with the sum of all previous tiles.
template <class T>
struct ScanTotals {
  T const* in;
  T* out;
  T* totals;
  std::size_t n;
  bool of_all_before;

  KOKKOS_FUNCTION void operator()(int) const {
    collective::Sum<T> const add;
    T running = 0;
    T total = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i % tile == 0 && !of_all_before) total = 0;
      out[i] = running = add(running, in[i]);
      totals[i / tile] = total = add(total, in[i]);
    }
  }
};

// Scans, and stores totals of tiles.
template <bool of_all_before>
struct Totals {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<PrefixSum, Exec, T> const& in,
                  OutputOn<PrefixSum, Exec, T> const& out) const {
    Kokkos::parallel_for(
        "tessera::tests::broken_prefix_sum", Kokkos::RangePolicy<Exec>(exec, 0, 1),
        ScanTotals<T>{in.in.data(), out.out.data(), out.totals.data(), in.in.extent(0), of_all_before});
  }
};

// Mistake: a Plan keeps data, although the input of the next launch may differ.
enum class Keeps { result_of_construction, result_of_first_launch, total_of_first_launch };

template <class T>
struct ScanFrom {
  T const* in;
  T* out;
  std::size_t begin;
  T const* seed;

  KOKKOS_FUNCTION void operator()(std::size_t i, T& running, bool is_final) const {
    running += in[begin + i];
    if (is_final) out[begin + i] = seed == nullptr ? running : static_cast<T>(running + *seed);
  }
};

template <Keeps K>
struct Stale {
  static constexpr VariantInfo info{.name = "stale", .summary = "a scan that keeps what it must not"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    using Memory = typename Exec::memory_space;

    Plan(Exec const& exec, InputOn<PrefixSum, Exec, T> const& in) : kept_("kept", in.in.extent(0)), total_("total", 1) {
      if (K != Keeps::result_of_construction) return;
      scan(exec, in.in.data(), kept_.data(), 0, in.in.extent(0), nullptr);
      first_ = false;
    }

    void operator()(Exec const& exec, InputOn<PrefixSum, Exec, T> const& in, OutputOn<PrefixSum, Exec, T> const& out) {
      std::size_t const n = in.in.extent(0);
      if (K == Keeps::total_of_first_launch) {
        // The second half begins with the total of the first.
        scan(exec, in.in.data(), out.out.data(), 0, n / 2, nullptr);
        if (first_ && n > 1) Kokkos::deep_copy(exec, total_, Kokkos::subview(out.out, std::pair(n / 2 - 1, n / 2)));
        scan(exec, in.in.data(), out.out.data(), n / 2, n, total_.data());
      } else {
        if (first_) scan(exec, in.in.data(), kept_.data(), 0, n, nullptr);
        Kokkos::deep_copy(exec, out.out, kept_);
      }
      first_ = false;
    }

    static void scan(Exec const& exec, T const* in, T* out, std::size_t begin, std::size_t end, T const* seed) {
      Kokkos::parallel_scan("tessera::tests::stale", over(exec, end - begin), ScanFrom<T>{in, out, begin, seed});
    }

    Kokkos::View<T*, Memory> kept_;
    Kokkos::View<T*, Memory> total_;
    bool first_ = true;
  };
};

TEST(BrokenPrefixSum, WhatAPlanKeepsOfItsInput) {
  for (std::size_t const size : {std::size_t{2}, std::size_t{1000}, (std::size_t{1} << 20) + 3, testing::late_size()}) {
    testing::expect_caught_later<PrefixSum>(size, Stale<Keeps::result_of_construction>{},
                                            Stale<Keeps::result_of_first_launch>{},
                                            Stale<Keeps::total_of_first_launch>{});
  }
}

TEST(BrokenPrefixSum, TotalsOfAllBefore) {
  ParameterMap const kept{{"totals", true}, {"tile", std::int64_t{tile}}};
  testing::expect_caught<PrefixSum>(Totals<true>{}, 20, kept, "totals");
  testing::expect_right<PrefixSum>(Totals<false>{}, 20, kept, 2);
}
TEST(BrokenPrefixSum, NoBarrierBetweenReadingAndWriting) {
  ParameterMap const of_two{{"team", std::int64_t{2}}, {"tile", std::int64_t{512}}};
  testing::expect_caught<PrefixSum>(Sums<SplitTile<false>>{}, 50001, of_two, "out", testing::repeats(50),
                                    testing::Where::hosts);
  testing::expect_right<PrefixSum>(Sums<SplitTile<true>>{}, 50001, of_two, 5);
}
// Padding is inserted only between rows, so the tiles have several rows: a single row could not show the mistake.
TEST(BrokenPrefixSum, PaddingForgottenInOneSweep) {
  ParameterMap const of_rows{{"tile", std::int64_t{100}}};
  testing::expect_caught<PrefixSum>(Sums<PaddedTile<Forgets::up>>{}, 1001, of_rows, "out");
  testing::expect_caught<PrefixSum>(Sums<PaddedTile<Forgets::down>>{}, 1001, of_rows, "out");
  testing::expect_right<PrefixSum>(Sums<PaddedTile<Forgets::nothing>>{}, 1001, of_rows, 2);
}
TEST(BrokenPrefixSum, ThePathItselfIsRight) { testing::expect_right<PrefixSum>(Broken{Mistake::none}, 100, {}, 2); }
TEST(BrokenPrefixSum, PreviousTileOnly) {
  testing::expect_caught<PrefixSum>(Broken{Mistake::previous_tile_only}, 24, {}, "16");
}
TEST(BrokenPrefixSum, LastTileUnwritten) {
  testing::expect_caught<PrefixSum>(Broken{Mistake::skips_last_tile}, 20, {}, "16");
}
TEST(BrokenPrefixSum, ExclusiveForInclusive) {
  testing::expect_caught<PrefixSum>(Broken{Mistake::not_shifted}, 20, {}, "out");
}
TEST(BrokenPrefixSum, IgnoresSegments) {
  testing::expect_caught<PrefixSum>(Broken{Mistake::none}, 24, {{"segment", std::int64_t{10}}}, "10");
}
TEST(BrokenPrefixSum, IgnoresOperator) {
  testing::expect_caught<PrefixSum>(Broken{Mistake::none}, 24, {{"op", std::string("max")}}, "out");
}

}  // namespace
}  // namespace tessera::prefix_sum
