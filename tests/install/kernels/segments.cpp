// Two user-defined segment rules on the user's own Views: the next element minus the maximum of the segment's first
// ones, and the partner.

#include "program.hpp"

#include <algorithm>
#include <cstdint>

#include <tessera/collective/operators.hpp>
#include <tessera/kernels/segments.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Elements = Kokkos::View<std::int32_t*, Exec>;
namespace collective = tessera::collective;
namespace kernels = tessera::kernels;

// The maximum of the first eight elements.
struct NextLessHead {
  using Element = std::int32_t;
  using Folded = std::int32_t;
  static constexpr int reach = 8;
  static constexpr auto neighbour = collective::Neighbour::next;
  using Max = collective::Max<Element>;

  KOKKOS_FUNCTION Folded nothing() const { return Max{}.identity(); }
  KOKKOS_FUNCTION Folded lift(Element x) const { return x; }
  KOKKOS_FUNCTION Folded combine(Folded a, Folded b) const { return Max{}(a, b); }
  KOKKOS_FUNCTION Folded settle(Folded max) const { return max; }
  KOKKOS_FUNCTION Element alone(Element x) const { return x; }
  // Unsigned numbers wrap: positions behind the end are computed as well and hold the value of nothing().
  KOKKOS_FUNCTION Element finish(Element, Element next, Folded max, bool) const {
    return static_cast<Element>(static_cast<std::uint32_t>(next) - static_cast<std::uint32_t>(max));
  }
};

struct Partner : collective::FoldsNothing<std::int32_t> {
  using Element = std::int32_t;
  static constexpr auto neighbour = collective::Neighbour::partner;

  KOKKOS_FUNCTION Element alone(Element x) const { return x; }
  KOKKOS_FUNCTION Element finish(Element, Element partner, Folded, bool) const { return partner; }
};

// With every kind of kernel, `out` must equal `wanted(i, begin, end)` for element i in the segment [begin, end).
template <class Rule, class Wanted>
int expect(char const* what, Exec const& exec, std::size_t n, std::size_t segment, Elements const& in,
           Wanted const& wanted) {
  Kokkos::View<std::int32_t const*, Exec> const constant = in;
  Elements const out("out", n);
  auto const compare = [&] {
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), out);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t const begin = segment == 0 ? 0 : i / segment * segment;
      std::size_t const end = segment == 0 ? n : std::min(begin + segment, n);
      if (differs(what, i, found(i), wanted(i, begin, end)) != 0) return 1;
    }
    Kokkos::deep_copy(out, -1);
    return 0;
  };
  int wrong = 0;
  tessera::SegmentShape const shape{.n = n, .segment = segment};
  kernels::apply_segment_rule(exec, Rule{}, segment, constant, out);
  wrong += compare();
  kernels::SegmentLanes<Exec, Rule> const by_lanes(exec, shape);
  by_lanes(exec, constant, out);
  wrong += compare();
  kernels::SegmentScratch<Exec, Rule> const by_scratch(exec, shape);
  by_scratch(exec, in, out);
  wrong += compare();
  kernels::SegmentRange<Exec, Rule> const by_range(exec, shape);
  by_range(exec, in, out);
  return wrong + compare();
}

int check(Exec const& exec) {
  int wrong = 0;
  for (std::size_t const n : {0, 1, 31, 4097, 1000003}) {
    Elements const in("in", n);
    auto const given = Kokkos::create_mirror_view(in);
    for (std::size_t i = 0; i < n; ++i) given(i) = static_cast<std::int32_t>(i * i % 1009);
    Kokkos::deep_copy(in, given);
    for (std::size_t const segment : {0, 1, 5, 32, 1000}) {
      wrong += expect<NextLessHead>(
          "NextLessHead", exec, n, segment, in, [&](std::size_t i, std::size_t begin, std::size_t end) {
            return given(i + 1 < end ? i + 1 : i) -
                   *std::max_element(&given(begin), &given(begin) + std::min<std::size_t>(8, end - begin));
          });
      wrong += expect<Partner>("Partner", exec, n, segment, in, [&](std::size_t i, std::size_t begin, std::size_t end) {
        if ((i - begin) % 2 == 1) return given(i - 1);
        return given(i + 1 < end ? i + 1 : i);
      });
    }
  }

  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  Elements const four("four", 4);
  Elements const five("five", 5);
  wrong += accepts("a strided column", [&] {
    kernels::apply_segment_rule(exec, Partner{}, 2, Kokkos::subview(matrix, Kokkos::ALL, 1), four);
  });
  wrong += accepts("a longer result", [&] { kernels::apply_segment_rule(exec, Partner{}, 2, four, five); });
  wrong += accepts("a segment that no kernel holds",
                   [&] { kernels::SegmentLanes<Exec, NextLessHead>(exec, {.n = 5000, .segment = 1025}); });
  return wrong;
}
