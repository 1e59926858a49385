// Wrong maps, each by one of the mistakes that the book's solutions and their readers make.

#include "broken_rows.hpp"

#include "../../apps/map/problem.hpp"

namespace tessera::map {
namespace {

// Kernel bodies stand in free templates: a device lambda may not stand in a test's private function.
template <class Exec, class Body>
void for_range(Exec const& exec, std::size_t begin, std::size_t end, Body const& body) {
  Kokkos::parallel_for("tessera::tests::broken_map", Kokkos::RangePolicy<Exec>(exec, begin, end), body);
}

template <class T>
struct Add {
  T const* a;
  T* out;
  T c;
  std::size_t shift_in;
  std::size_t shift_out;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { out[i + shift_out] = a[i + shift_in] + c; }
};

struct MissesLast {
  static constexpr VariantInfo info{.name = "misses_last", .summary = "leaves the last element out"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) const {
      for_range(exec, 0, in.a.extent(0) - 1,
                Add<T>{in.a.data(), out.out.data(), static_cast<T>(in.parameters.c), 0, 0});
    }
  };
};

struct WritesPastEnd {
  static constexpr VariantInfo info{.name = "writes_past_end", .summary = "has no guard"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) const {
      T const c = static_cast<T>(in.parameters.c);
      for_range(exec, 0, in.a.extent(0), Add<T>{in.a.data(), out.out.data(), c, 0, 0});
      for_range(exec, 0, 1, Add<T>{in.a.data(), out.out.data(), c, 0, in.a.extent(0)});
    }
  };
};

struct WritesBeforeStart {
  static constexpr VariantInfo info{.name = "writes_before_start", .summary = "starts one element early"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) const {
      T const c = static_cast<T>(in.parameters.c);
      for_range(exec, 0, in.a.extent(0), Add<T>{in.a.data(), out.out.data(), c, 0, 0});
      for_range(exec, 0, 1, Add<T>{in.a.data(), out.out.data() - 1, c, 0, 0});
    }
  };
};

struct AddsNothing {
  static constexpr VariantInfo info{.name = "adds_nothing", .summary = "an empty kernel"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const&, InputOn<Map, Exec, T> const&, OutputOn<Map, Exec, T> const&) const {}
  };
};

struct ReadsNeighbour {
  static constexpr VariantInfo info{.name = "reads_neighbour", .summary = "reads one element to the right"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Map, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& in, OutputOn<Map, Exec, T> const& out) const {
      T const c = static_cast<T>(in.parameters.c);
      std::size_t const n = in.a.extent(0);
      for_range(exec, 0, n, Add<T>{in.a.data(), out.out.data(), c, 0, 0});
      for_range(exec, n / 2, n / 2 + 1, Add<T>{in.a.data(), out.out.data(), c, 1, 0});
    }
  };
};

TEST(BrokenMap, MissesLast) { testing::expect_caught<Map, MissesLast>(100, {}, "99"); }
TEST(BrokenMap, WritesPastEnd) { testing::expect_caught<Map, WritesPastEnd>(100, {}, "past the end"); }
TEST(BrokenMap, WritesBeforeStart) { testing::expect_caught<Map, WritesBeforeStart>(100, {}, "before the start"); }
TEST(BrokenMap, AddsNothing) { testing::expect_caught<Map, AddsNothing>(100, {}, "0"); }
TEST(BrokenMap, ReadsNeighbour) { testing::expect_caught<Map, ReadsNeighbour>(100, {}, "50"); }

}  // namespace
}  // namespace tessera::map
