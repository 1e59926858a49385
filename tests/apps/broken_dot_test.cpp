// Wrong dot products must be caught.

#include "broken_rows.hpp"

#include "adversarial_cluster.hpp"

#include "../../apps/dot/cluster_sum.hpp"
#include "../../apps/dot/problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>

namespace tessera::dot {

App app();

namespace {

template <class T>
struct Partial {
  T const* a;
  T const* b;
  std::size_t begin;
  KOKKOS_FUNCTION void operator()(std::size_t i, Accumulator<T>& sum) const {
    sum += product(a[begin + i], b[begin + i]);
  }
};

template <class Exec, class T, class Out>
void sum_of(Exec const& exec, InputOn<Dot, Exec, T> const& in, std::size_t begin, std::size_t end, Out const& out) {
  Kokkos::parallel_reduce("tessera::tests::broken_dot", over(exec, end - begin),
                          Partial<T>{in.a.data(), in.b.data(), begin}, out);
}

// Mistake: adds to the old output, which is right only if the output is zero and only once.
template <class T>
struct AddTo {
  Accumulator<T>* out;
  T const* a;
  T const* b;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { Kokkos::atomic_add(out, product(a[i], b[i])); }
};

struct NotZeroed {
  static constexpr VariantInfo info{.name = "not_zeroed", .summary = "accumulates into whatever the output holds"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Dot, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& in, OutputOn<Dot, Exec, T> const& out) const {
      Kokkos::parallel_for("tessera::tests::broken_dot", over(exec, in.a.extent(0)),
                           AddTo<T>{total.of(out.out).data(), in.a.data(), in.b.data()});
      total.store(exec, out.out);
    }
    Total<Exec, T> total{"tessera::tests::broken_dot::total"};
  };
};

enum class TreeMistake {
  none,
  no_barrier,    // a thread adds a value that another thread has not written yet
  odd_left_out,  // halves are rounded down, and the middle element is lost
};

// The tree of sequential_addressing over `shares` products in scratch, with teams of two threads.
template <class Exec, class T>
struct BrokenTree {
  static constexpr int shares = 61;
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Sums = ScratchView<Accumulator<T>*, Exec>;
  TreeMistake mistake;
  T const* a;
  T const* b;
  Accumulator<T>* out;
  std::size_t n;

  KOKKOS_FUNCTION void operator()(typename Policy::member_type const& team) const {
    Sums const sums(team.team_scratch(0), shares);
    for (int s = team.team_rank(); s < shares; s += team.team_size()) {
      std::size_t const i = static_cast<std::size_t>(team.league_rank()) * shares + s;
      sums(s) = i < n ? product(a[i], b[i]) : Accumulator<T>(0);
    }
    for (int left = shares; left > 1;) {
      int const half = mistake == TreeMistake::odd_left_out ? left / 2 : (left + 1) / 2;
      if (mistake != TreeMistake::no_barrier) team.team_barrier();
      // Begins at the far end, where the other thread wrote last.
      for (int s = Kokkos::min(half, left - half) - 1 - team.team_rank(); s >= 0; s -= team.team_size())
        sums(s) += sums(s + half);
      left = half;
    }
    team.team_barrier();
    if (team.team_rank() == 0) Kokkos::atomic_add(out, sums(0));
    leave_scratch(team);
  }
};

template <TreeMistake mistake>
struct BrokenTrees {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& in, OutputOn<Dot, Exec, T> const& out) const {
    Total<Exec, T> const total{"tessera::tests::broken_dot::total"};
    using Tree = BrokenTree<Exec, T>;
    std::size_t const n = in.a.extent(0);
    auto const sum = total.of(out.out);
    Kokkos::deep_copy(exec, sum, Accumulator<T>(0));
    typename Tree::Policy const policy(exec, league_of(tiles_of(n, Tree::shares)), exec.concurrency() > 1 ? 2 : 1);
    Kokkos::parallel_for("tessera::tests::broken_dot", with_scratch(policy, Tree::Sums::shmem_size(Tree::shares)),
                         Tree{mistake, in.a.data(), in.b.data(), sum.data(), n});
    total.store(exec, out.out);
  }
  static constexpr bool deterministic = false;
  static constexpr bool atomic_sums = true;
};

TEST(BrokenDot, TreeIsRightWithoutAMistake) { testing::expect_right<Dot>(BrokenTrees<TreeMistake::none>{}, 10007, {}); }
TEST(BrokenDot, TreeWithoutABarrier) {
  testing::expect_caught<Dot>(BrokenTrees<TreeMistake::no_barrier>{}, 10007, {}, "out", 200, testing::Where::hosts);
}
TEST(BrokenDot, TreeLeavesOutTheMiddle) {
  testing::expect_caught<Dot>(BrokenTrees<TreeMistake::odd_left_out>{}, 10007, {}, "out");
}

// No terms, zero terms and terms that cancel have exactly one right sum, also if atomics flush denormals.
TEST(Dot, SumsThatCannotBeFlushedAreNeverWeak) {
  auto const expect = [](std::vector<double> const& a, std::vector<double> const& b) {
    testing::expect_never_weak(app(), testing::GivenFields({{"a", {{a.size()}, a}}, {"b", {{b.size()}, b}}}), {});
  };
  expect({}, {});
  expect(std::vector<double>(1000, 0), std::vector<double>(1000, 3));
  expect({1, -1, 2, -2}, {3, 3, 3, 3});
}
// The reference distinguishes sums that are known in every order from sums that depend on the order.
TEST(Dot, SumsPastTheRange) {
  double const infinity = std::numeric_limits<double>::infinity();
  auto const expect = [](std::vector<double> const& a, double wanted, double relative) {
    std::vector<double> const ones(a.size(), 1);
    testing::expect_checked(app(), testing::GivenFields({{"a", {{a.size()}, a}}, {"b", {{a.size()}, ones}}}), {},
                            {wanted}, relative);
  };
  expect({3e38, -2e38, 1e30}, 1e38 + 1e30, 1e-6);
  for (Row const& row : app().rows) {
    if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    auto const scale_of = [&](std::vector<double> const& a) {
      testing::GivenFields const source(
          {{"a", {{a.size()}, a}}, {"b", {{a.size()}, std::vector<double>(a.size(), 1)}}});
      auto const problem_case = app().read(row.dtype, source, testing::with_defaults(app(), {}));
      std::vector<ExpectedField> const expected = problem_case->reference();
      if (std::isfinite(expected[0].scale.at(0))) {
        std::string const outcome = testing::run_row(row, *problem_case, expected, 1);
        EXPECT_TRUE(outcome.empty() || outcome.starts_with("skipped: ")) << testing::name_of(app(), row) << outcome;
      }
      return expected[0].scale.at(0);
    };
    EXPECT_LT(scale_of(std::vector<double>(8, 3e38)), infinity);   // infinity in every order
    EXPECT_LT(scale_of({3e38, 3e38, 3e38, -1e38}), infinity);      // the same
    EXPECT_EQ(scale_of({3e38, 2e38, -3e38, 0.1}), infinity);       // 2e38 or infinity
    EXPECT_EQ(scale_of({3e38, 3e38, -3e38, -3e38, 1}), infinity);  // 1 or 0, infinity or NaN
  }
}

TEST(BrokenDot, MissesTail) {
  // Only whole packs of four.
  testing::expect_caught<Dot>(
      []<class Exec, class T>(Exec const& exec, InputOn<Dot, Exec, T> const& in, OutputOn<Dot, Exec, T> const& out) {
        Total<Exec, T> const total{"tessera::tests::broken_dot::total"};
        sum_of<Exec, T>(exec, in, 0, in.a.extent(0) / 4 * 4, total.of(out.out));
        total.store(exec, out.out);
      },
      1003, {}, "out");
}
TEST(BrokenDot, LastTeamWins) {
  // Every team overwrites the one result.
  testing::expect_caught<Dot>(
      []<class Exec, class T>(Exec const& exec, InputOn<Dot, Exec, T> const& in, OutputOn<Dot, Exec, T> const& out) {
        Total<Exec, T> const total{"tessera::tests::broken_dot::total"};
        std::size_t const n = in.a.extent(0);
        sum_of<Exec, T>(exec, in, 0, n / 2, total.of(out.out));
        sum_of<Exec, T>(exec, in, n / 2, n, total.of(out.out));
        total.store(exec, out.out);
      },
      1003, {}, "out");
}
// Mistake: a plain sum += product from many threads. Two launches make the loss certain on every space: all threads
// read the old sum before one of them writes, and the first one writes last. (The last product of 16-bit floats is the
// whole sum, because their other products cancel.)
template <class T>
struct AddsToOldSum {
  T const* a;
  T const* b;
  Accumulator<T> const* sum;
  Accumulator<T>* own;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { own[i] = *sum + product(a[i], b[i]); }
};
template <class T>
struct WritesOwnSum {
  Accumulator<T> const* own;
  Accumulator<T>* sum;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    if (i == 0) *sum = own[i];
  }
};
struct LostUpdates {
  static constexpr bool deterministic = false;
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& in, OutputOn<Dot, Exec, T> const& out) const {
    Total<Exec, T> const total{"tessera::tests::broken_dot::total"};
    auto const sum = total.of(out.out);
    std::size_t const n = in.a.extent(0);
    ArrayOn<Accumulator<T>*, Exec> const own("tessera::tests::broken_dot::own", n);
    Kokkos::deep_copy(exec, sum, Accumulator<T>(0));
    Kokkos::parallel_for("tessera::tests::broken_dot::read", over(exec, n),
                         AddsToOldSum<T>{in.a.data(), in.b.data(), sum.data(), own.data()});
    Kokkos::parallel_for("tessera::tests::broken_dot::write", over(exec, n), WritesOwnSum<T>{own.data(), sum.data()});
    total.store(exec, out.out);
    exec.fence();  // `own` ends here
  }
};
TEST(BrokenDot, LosesUpdates) {
  for (std::size_t const n : {2, 1003, 1 << 20}) testing::expect_caught<Dot>(LostUpdates{}, n, {}, "out");
}
// Run twice: the sum of 16-bit floats is in the variant's own memory, which is zero only at first.
TEST(BrokenDot, NotZeroed) { testing::expect_caught<Dot>(NotZeroed{}, 1003, {}, "out", 2); }

// Runs cluster_sum's kernel under the model of a cluster. Cluster barrier number `weak` is only a team's; -1: none is.
// Returns what is wrong, or an empty string.
std::string outcome_on_clusters(int teams, int threads, std::size_t n, test::Order team_order, test::Order order,
                                int weak) {
  using Kernel = ClusterSumKernel<test::AdversarialSpace, double, lane::Emulated<4>>;
  std::vector<double> a(n);
  std::vector<double> b(n);
  double expected = 0;
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = static_cast<double>(i % 97);
    b[i] = static_cast<double>(1 + i % 31);
    expected += a[i] * b[i];
  }
  auto const chunks = kernels::split(n, static_cast<std::size_t>(teams * threads), 3);
  test::AdversarialCluster cluster(teams, threads, Kernel::scratch_bytes(threads));
  double out = 0;
  Kernel const kernel{a.data(), b.data(), &out, chunks};
  for (int i = 0; i < chunks.count; ++i) {
    auto const run = [&](test::AdversarialCluster::Member const& team) { kernel(test::WeakBarrierMember(team, weak)); };
    if (auto const error = cluster.run(team_order, order, run, i, chunks.count)) return *error;
  }
  return out == expected ? "" : "wrong sum";
}

TEST(DotKernels, OnClustersInAnyOrder) {
  for (int const teams : {1, 2, 4, 8}) {
    for (int const threads : {1, 3}) {
      for (std::size_t const n : {0, 1, 31, 1003}) {
        for (test::Order const team_order : test::team_orders) {
          for (test::Order const order : test::all_orders) {
            EXPECT_EQ(outcome_on_clusters(teams, threads, n, team_order, order, -1), "")
                << n << " by " << teams << " teams of " << threads;
          }
        }
      }
    }
  }
}

// Sums must be written before other teams read them, and no team may end before the others have read its sum.
TEST(DotKernels, EachBarrierOfAClusterIsNecessary) {
  for (int const weak : {0, 1}) {
    for (int const teams : {2, 4}) {
      std::string all;
      for (test::Order const team_order : test::team_orders) {
        all += outcome_on_clusters(teams, 2, 1003, team_order, test::Order::ascending, weak) + "\n";
      }
      EXPECT_NE(all.find("wrong sum"), std::string::npos) << weak << " of " << teams << " teams: " << all;
    }
  }
}

}  // namespace
}  // namespace tessera::dot
