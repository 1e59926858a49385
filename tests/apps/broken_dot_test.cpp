// Wrong dot products.

#include "broken_rows.hpp"

#include "../../apps/dot/problem.hpp"

namespace tessera::dot {
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
  Kokkos::parallel_reduce("tessera::tests::broken_dot", Kokkos::RangePolicy<Exec>(exec, 0, end - begin),
                          Partial<T>{in.a.data(), in.b.data(), begin}, out);
}

struct MissesTail {
  static constexpr VariantInfo info{.name = "misses_tail", .summary = "only whole packs of four"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Dot, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& in, OutputOn<Dot, Exec, T> const& out) const {
      sum_of<Exec, T>(exec, in, 0, in.a.extent(0) / 4 * 4, accumulator_of(out.out));
    }
  };
};

struct LastTeamWins {
  static constexpr VariantInfo info{.name = "last_team_wins", .summary = "every team overwrites the one result"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Dot, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& in, OutputOn<Dot, Exec, T> const& out) const {
      std::size_t const n = in.a.extent(0);
      sum_of<Exec, T>(exec, in, 0, n / 2, accumulator_of(out.out));
      sum_of<Exec, T>(exec, in, n / 2, n, accumulator_of(out.out));
    }
  };
};

// Adds to what is already there: right only on an output of zero, and only once.
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
      Kokkos::parallel_for("tessera::tests::broken_dot", Kokkos::RangePolicy<Exec>(exec, 0, in.a.extent(0)),
                           AddTo<T>{accumulator_of(out.out).data(), in.a.data(), in.b.data()});
    }
  };
};

TEST(BrokenDot, MissesTail) { testing::expect_caught<Dot, MissesTail>(1003, {}, "out"); }
TEST(BrokenDot, LastTeamWins) { testing::expect_caught<Dot, LastTeamWins>(1003, {}, "out"); }
TEST(BrokenDot, NotZeroed) { testing::expect_caught<Dot, NotZeroed>(1003, {}, "out"); }

}  // namespace
}  // namespace tessera::dot
