// Wrong generators must be caught, each with one typical mistake.

#include "broken_rows.hpp"

#include <string>

#include <tessera/kernels/random.hpp>

#include "../../apps/random/problem.hpp"

namespace tessera::random {
namespace {

enum class Mistake {
  none,
  misses_last,           // the last element is not written
  writes_past_end,       // whole counters are written
  few_rounds,            // six rounds of Philox instead of ten
  counter_of_32_bits,    // the counter's upper half is lost: elements repeat after 2^34
  no_stream,             // all streams are the same
  words_reversed,        // the four words of a counter in reverse order
  halves_share_elements  // as two ranks that both begin at element 0
};

template <Mistake mistake>
struct Words {
  using Block = collective::Philox4x32::Block;
  std::uint64_t seed;
  std::uint32_t stream;

  [[nodiscard]] KOKKOS_FUNCTION Block block(std::uint64_t b, std::uint32_t word) const {
    constexpr int rounds = mistake == Mistake::few_rounds ? 6 : 10;
    Block const four = collective::Philox4x32::block<rounds>(
        {static_cast<std::uint32_t>(b),
         mistake == Mistake::counter_of_32_bits ? 0 : static_cast<std::uint32_t>(b >> 32),
         mistake == Mistake::no_stream ? 0 : stream, word},
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    return mistake == Mistake::words_reversed ? Block{four[3], four[2], four[1], four[0]} : four;
  }
  template <class Bits>
  [[nodiscard]] KOKKOS_FUNCTION Kokkos::Array<Bits, 4> bits(std::uint64_t b, std::uint32_t word) const {
    Kokkos::Array<Bits, 4> result{};
    constexpr bool wide = sizeof(Bits) == 8;
    Block const lower = block(b, wide ? 2 * word : word);
    Block const upper = block(b, wide ? 2 * word + 1 : word);
    for (int e = 0; e < 4; ++e) {
      result[e] = wide ? static_cast<Bits>(std::uint64_t{upper[e]} << 32 | lower[e]) : static_cast<Bits>(lower[e]);
    }
    return result;
  }
};

template <class T, class Distribution, Mistake mistake>
struct Fill {
  Words<mistake> words;
  Distribution distribution;
  std::uint64_t offset;
  T* out;
  std::size_t n;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    if (mistake == Mistake::misses_last && i == n - 1) return;
    bool const again = mistake == Mistake::halves_share_elements && i >= n / 2;
    out[i] = distribution.at(words, offset + (again ? i - n / 2 : i));
  }
};

template <class T>
struct DistributionOf {
  using type = collective::Uniform<T>;
};
template <>
struct DistributionOf<std::int32_t> {
  using type = collective::Bits;
};

template <Mistake mistake>
struct Broken {
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Random, Exec, T> const& in, OutputOn<Random, Exec, T> const& out) const {
    using Kernel = Fill<T, typename DistributionOf<T>::type, mistake>;
    Parameters const& of = in.parameters;
    std::size_t const n = out.out.extent(0);
    std::size_t const written = mistake == Mistake::writes_past_end ? (n + 3) / 4 * 4 : n;
    Kokkos::parallel_for("tessera::tests::broken_random", over(exec, written),
                         Kernel{{of.seed, of.stream}, {}, of.offset, out.out.data(), n});
  }
};

TEST(BrokenRandom, IsRightWithoutAMistake) { testing::expect_right<Random>(Broken<Mistake::none>{}, 1001, {}); }
TEST(BrokenRandom, MissesLast) { testing::expect_caught<Random>(Broken<Mistake::misses_last>{}, 1001, {}, "1000"); }
TEST(BrokenRandom, WritesPastEnd) {
  testing::expect_caught<Random>(Broken<Mistake::writes_past_end>{}, 1001, {}, "past the end");
}
TEST(BrokenRandom, FewRounds) {
  testing::expect_caught<Random>(Broken<Mistake::few_rounds>{}, 1001, {}, "first at [0]");
}
TEST(BrokenRandom, CounterOf32Bits) {
  // Right up to element 2^34, which is element 16 here.
  Broken<Mistake::counter_of_32_bits> const wrong;
  testing::expect_right<Random>(wrong, 1001, {});
  testing::expect_caught<Random>(wrong, 1001, {{"offset", (std::int64_t{1} << 34) - 16}}, "first at [16]");
}
TEST(BrokenRandom, NoStream) {
  testing::expect_caught<Random>(Broken<Mistake::no_stream>{}, 1001, {{"stream", std::int64_t{1}}}, "first at [0]");
}
TEST(BrokenRandom, WordsReversed) {
  testing::expect_caught<Random>(Broken<Mistake::words_reversed>{}, 1001, {}, "first at [0]");
}
TEST(BrokenRandom, HalvesShareElements) {
  testing::expect_caught<Random>(Broken<Mistake::halves_share_elements>{}, 1001, {}, "first at [500]");
}

// Mistakes of single distributions: floats as the default, int32 by a requires clause.
template <class T>
struct ExchangedPair {
  // The sine of a pair comes first.
  template <class Words>
  [[nodiscard]] KOKKOS_FUNCTION T at(Words const& words, std::uint64_t i) const {
    return collective::Normal<T>{}.at(words, i ^ 1);
  }
};
struct SinesFirst {
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  void operator()(Exec const& exec, InputOn<Random, Exec, T> const& in, OutputOn<Random, Exec, T> const& out) const {
    Kokkos::parallel_for(
        "tessera::tests::broken_random", over(exec, out.out.extent(0)),
        Fill<T, ExchangedPair<T>, Mistake::none>{{in.parameters.seed, 0}, {}, 0, out.out.data(), out.out.extent(0)});
  }
};

struct Biased {
  std::uint64_t range;
  std::int64_t lo;
  // Without rejection.
  template <class Words>
  [[nodiscard]] KOKKOS_FUNCTION std::int32_t at(Words const& words, std::uint64_t i) const {
    auto const word = collective::one_of_four(words.template bits<std::uint32_t>(i / 4, 0), i % 4);
    return static_cast<std::int32_t>(lo + static_cast<std::int64_t>(word * range >> 32));
  }
};
struct NoRejection {
  template <ExecutionSpace Exec, class T>
    requires std::is_integral_v<T>
  void operator()(Exec const& exec, InputOn<Random, Exec, T> const& in, OutputOn<Random, Exec, T> const& out) const {
    Parameters const& of = in.parameters;
    Kokkos::parallel_for(
        "tessera::tests::broken_random", over(exec, out.out.extent(0)),
        Fill<T, Biased, Mistake::none>{
            {of.seed, 0}, {static_cast<std::uint64_t>(of.hi - of.lo), of.lo}, 0, out.out.data(), out.out.extent(0)});
  }
};

// Expects the rows of a callable for some dtypes to be wrong, in dtypes of this build.
template <class Wrong>
void expect_distribution_caught(Wrong const& wrong, ParameterMap const& given) {
  for (Row const& row : testing::app_with({testing::rows_of<Random>(wrong)}).rows) {
    if (!testing::is_wanted(row)) continue;
    App const app = testing::app_with({testing::rows_of<Random>(wrong)});
    auto const problem_case = app.generate(row.dtype, 1001, 1, testing::with_defaults(app, given));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    EXPECT_TRUE(testing::is_wrong_result(outcome)) << testing::name_of(app, row) << ": " << outcome;
  }
}
TEST(BrokenRandom, SinesFirst) { expect_distribution_caught(SinesFirst{}, {{"distribution", std::string("normal")}}); }
TEST(BrokenRandom, NoRejection) {
  // Half of all words are rejected.
  expect_distribution_caught(
      NoRejection{},
      {{"distribution", std::string("integers")}, {"lo", std::int64_t{-1} << 31}, {"hi", std::int64_t{1}}});
}

}  // namespace
}  // namespace tessera::random
