// Wrong measurements: work that was not done must not count as fast.

#include "broken_rows.hpp"

#include "../../apps/roofline/problem.hpp"

namespace tessera::roofline {
namespace {

struct CopiesHalf {
  static constexpr VariantInfo info{.name = "copies_half", .summary = "moves half of the elements"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Roofline, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& in,
                    OutputOn<Roofline, Exec, T> const& out) const {
      auto const half = Kokkos::make_pair(std::size_t{0}, in.a.extent(0) / 2);
      measure::copy(exec, Kokkos::subview(in.a, half), Kokkos::subview(out.copied, half));
    }
    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "copied"}}; }
  };
};

struct ForgetsFactor {
  static constexpr VariantInfo info{.name = "forgets_factor", .summary = "adds b, not s * b"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Roofline, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& in,
                    OutputOn<Roofline, Exec, T> const& out) const {
      measure::triad(exec, in.a, in.b, out.triad, T(1));
    }
    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "triad"}}; }
  };
};

struct SkipsIteration {
  static constexpr VariantInfo info{.name = "skips_iteration", .summary = "one multiply-add too few"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Roofline, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& in,
                    OutputOn<Roofline, Exec, T> const& out) const {
      measure::chains(exec, out.chains, static_cast<std::int32_t>(in.parameters.iterations - 1));
    }
    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "chains"}}; }
  };
};

struct LaunchesNothing {
  static constexpr VariantInfo info{.name = "launches_nothing", .summary = "no launch at all"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Roofline, Exec, T> const&) {}
    void operator()(Exec const&, InputOn<Roofline, Exec, T> const&, OutputOn<Roofline, Exec, T> const&) const {}
    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "launched"}}; }
  };
};

// A row that names one field must not be judged by the others, and one that names none by all.
struct NamesTooMuch {
  static constexpr VariantInfo info{.name = "names_too_much", .summary = "says that it writes triad as well"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Roofline, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& in,
                    OutputOn<Roofline, Exec, T> const& out) const {
      measure::copy(exec, in.a, out.copied);
    }
    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "copied"}, {.field = "triad"}}; }
  };
};

TEST(BrokenRoofline, CopiesHalf) { testing::expect_caught<Roofline, CopiesHalf>(100, {}, "50"); }
TEST(BrokenRoofline, ForgetsFactor) { testing::expect_caught<Roofline, ForgetsFactor>(100, {{"s", -3.0}}, "triad"); }
TEST(BrokenRoofline, SkipsIteration) { testing::expect_caught<Roofline, SkipsIteration>(100, {}, "chains"); }
TEST(BrokenRoofline, LaunchesNothing) { testing::expect_caught<Roofline, LaunchesNothing>(100, {}, "launched"); }
TEST(BrokenRoofline, NamesTooMuch) { testing::expect_caught<Roofline, NamesTooMuch>(100, {}, "triad"); }

}  // namespace
}  // namespace tessera::roofline
