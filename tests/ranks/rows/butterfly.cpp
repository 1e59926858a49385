// The rows of butterfly on several ranks.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../../../apps/butterfly/problem.hpp"
#include "../rows.hpp"

#include <tessera/ranks/halo.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

App app();

namespace {

// Segments cut by a rank's end, segments that span several ranks, and one longer than the array.
TEST(RowsOnRanks, Butterfly) {
  std::vector<ParameterMap> parameters;
  for (char const* const op : {"pair_swap", "max", "minmax_parity"}) {
    for (std::int64_t const segment : {1, 2, 3, 4, 32, 33, 1000, 1024}) {
      parameters.push_back({{"op", std::string(op)}, {"segment", segment}});
    }
  }
  testing::expect_right_on_ranks(app(), parameters);
}

// One segment is the whole array; blocks begin at even and at odd elements.
TEST(RowsOnRanks, ButterflyOfOneSegment) {
  std::vector<ParameterMap> parameters;
  for (char const* const op : {"pair_swap", "max", "minmax_parity"}) {
    parameters.push_back({{"op", std::string(op)}, {"segment", std::int64_t{0}}});
  }
  testing::expect_right_on_ranks(app(), parameters);
}

// Maxima of segments over ranks with a mistake. Each rank finds them serially, with the elements beside its own.
enum class Mistake {
  none,
  keeps_to_itself,  // ignores all other ranks
  counts_from_own,  // segments begin with the rank's first element
  stale             // uses data of the previous launch
};

struct BrokenSegments {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Butterfly, Exec, T> const& input, ranks::Part const& part)
        : ranks(part.ranks), n(part.input[0][0]), segment(static_cast<std::size_t>(input.parameters.segment)) {}

    void operator()(Exec const& exec, InputOn<Butterfly, Exec, T> const& input,
                    OutputOn<Butterfly, Exec, T> const& output) {
      auto const in = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.in);
      auto const out = Kokkos::create_mirror_view(output.out);
      std::size_t const far = mistake == Mistake::keeps_to_itself ? 0 : segment - 1;
      ranks::Halo halo(ranks, n, {far, far}, sizeof(T));
      std::vector<T> values(halo.before() + in.size() + halo.behind());
      std::copy(in.data(), in.data() + in.size(), values.begin() + static_cast<std::ptrdiff_t>(halo.before()));
      std::vector<T> before(halo.before());
      std::vector<T> behind(halo.behind());
      auto* const given = const_cast<T*>(in.data());  // data to be sent are not modified
      halo.lies_at(given, given + (in.size() - halo.tail()), before.data(), behind.data());
      halo.exchange();
      if (mistake == Mistake::stale) {
        std::ranges::fill(before, T(-2));  // the state before the first launch
        std::ranges::fill(behind, T(-2));
      }
      std::ranges::copy(before, values.begin());
      std::ranges::copy(behind, values.end() - static_cast<std::ptrdiff_t>(behind.size()));
      std::size_t const own = ranks.block(n).begin;
      std::size_t const first = own - halo.before();  // index of values[0]
      for (std::size_t i = 0; i < in.size(); ++i) {
        std::size_t const phase = (mistake == Mistake::counts_from_own ? i : own + i) % segment;
        std::size_t const at = own + i - first;
        std::size_t const begin = at - std::min(at, phase);
        std::size_t const end = std::min(values.size(), at + segment - phase);
        out(i) = *std::max_element(values.data() + begin, values.data() + end);
      }
      Kokkos::deep_copy(exec, output.out, out);
      exec.fence();
    }

    ranks::Ranks const& ranks;
    std::size_t n;
    std::size_t segment;
  };
};

// 1000 random elements in segments of 7: the ends of ranks cut segments at every position. One launch only: a rank
// whose part is wrong stops after the first launch, and the others would wait for it in the next.
std::string outcome_of_broken(Mistake mistake) {
  BrokenSegments::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<Butterfly, BrokenSegments>()});
  ParameterMap const given{{"op", std::string("max")}, {"segment", std::int64_t{7}}};
  return testing::outcome_of(broken, 1000, DataKind::random, given, 1);
}
bool is_caught(Mistake mistake) { return !outcome_of_broken(mistake).empty(); }
bool several() { return testing::world().count() > 1; }

TEST(BrokenSegments, AreRightWithoutAMistake) { EXPECT_EQ(outcome_of_broken(Mistake::none), ""); }
TEST(BrokenSegments, KeepToThemselves) { EXPECT_EQ(is_caught(Mistake::keeps_to_itself), several()); }
TEST(BrokenSegments, CountFromTheirOwn) { EXPECT_EQ(is_caught(Mistake::counts_from_own), several()); }
TEST(BrokenSegments, Stale) { EXPECT_EQ(is_caught(Mistake::stale), several()); }

}  // namespace
}  // namespace tessera::butterfly
