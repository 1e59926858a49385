// Wrong generators must be caught, each with one typical mistake.

#include "broken_rows.hpp"

#include <Kokkos_Random.hpp>

#include <memory>
#include <string>
#include <vector>

#include <tessera/kernels/random.hpp>

#include "../../apps/random/pool.hpp"
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

// Values of a pool's kind: no reference knows them, and statistics must find the mistake.
enum class PoolMistake {
  none,
  shared_state,        // eight threads begin with the same state
  state_of_the_index,  // each number is the first of a state that is the index
  skewed,              // one number of 32 comes from the lower half
  modulo,              // integers by a remainder
  wide_normals,        // a standard deviation of 1.02
  above_the_range,     // one number is hi, or above 1
  tile_not_written,
  tile_twice
};

template <class T, PoolMistake mistake>
struct DrawInRuns {
  using Generator = Kokkos::Random_XorShift64<Kokkos::DefaultHostExecutionSpace>;
  Distribution distribution;
  std::int64_t lo;
  std::int64_t hi;
  T* out;
  std::size_t n;
  static constexpr std::size_t runs = 64;

  KOKKOS_FUNCTION void operator()(std::size_t run) const {
    std::size_t const length = (n + runs - 1) / runs;
    // States far apart, as a pool makes them.
    std::uint64_t const own = mistake == PoolMistake::shared_state ? run / 8 : run;
    Generator generator((own + 1) * 0x9E3779B97F4A7C15ULL);
    for (std::size_t i = run * length; i < (run + 1) * length && i < n; ++i) {
      bool const late = i / 256 == n / 256 - 1;
      if (mistake == PoolMistake::tile_not_written && late) continue;
      if constexpr (mistake == PoolMistake::state_of_the_index) {
        Generator of_index(i + 1);
        out[i] = draw(of_index, i);
      } else {
        out[i] = mistake == PoolMistake::tile_twice && late ? out[i - 256] : draw(generator, i);
      }
    }
  }

  [[nodiscard]] KOKKOS_FUNCTION T draw(Generator& generator, std::size_t i) const {
    bool const above = mistake == PoolMistake::above_the_range && i == n - 2;
    if constexpr (std::is_integral_v<T>) {
      bool const halved = mistake == PoolMistake::skewed && i % 32 == 0;
      if (distribution != Distribution::integers) return static_cast<T>(generator.urand() >> (halved ? 1 : 0));
      auto const range = static_cast<std::uint64_t>(hi - lo);
      if (above) return static_cast<T>(hi);
      if (mistake == PoolMistake::modulo) {
        return static_cast<T>(lo + static_cast<std::int64_t>(generator.urand() % range));
      }
      return static_cast<T>(generator.rand64(lo, hi));
    } else if (distribution == Distribution::normal) {
      return static_cast<T>(generator.normal(0, mistake == PoolMistake::wide_normals ? 1.02 : 1));
    } else {
      T const u = static_cast<T>(generator.drand());
      if (above) return 1 + u;
      return mistake == PoolMistake::skewed && i % 32 == 0 ? u / 2 : u;
    }
  }
};

template <PoolMistake mistake>
struct OwnValues {
  [[nodiscard]] static std::vector<WrittenField> outputs() { return {{.field = "out", .own_values = true}}; }
  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Random, Exec, T> const& in, OutputOn<Random, Exec, T> const& out) const {
    Parameters const& of = in.parameters;
    Kokkos::parallel_for("tessera::tests::broken_pool", over(exec, DrawInRuns<T, mistake>::runs),
                         DrawInRuns<T, mistake>{of.distribution, of.lo, of.hi, out.out.data(), out.out.extent(0)});
  }
};

// Expects the rows of OwnValues in dtypes that have the distribution to be rejected, or to pass without a mistake.
template <PoolMistake mistake>
void expect_statistics(std::string const& distribution, std::string const& message,
                       std::size_t size = std::size_t{1} << 22, std::int64_t hi = 6) {
  App const app = testing::app_with({testing::rows_of<Random>(OwnValues<mistake>{})});
  for (Row const& row : app.rows) {
    bool const of_words = row.dtype == DType::int32 && distribution == "uniform";  // all words are in their range
    if (!testing::is_wanted(row) || (of_words && mistake == PoolMistake::above_the_range)) continue;
    bool const of_integers = row.dtype == DType::int32;
    if (distribution != "uniform" && of_integers != (distribution == "integers")) continue;
    ParameterMap const map = testing::with_defaults(app, {{"distribution", distribution}, {"hi", hi}});
    auto const problem_case = app.generate(row.dtype, size, 1, map);
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    if (mistake == PoolMistake::none) {
      EXPECT_EQ(outcome, "") << testing::name_of(app, row) << " " << distribution;
    } else {
      EXPECT_TRUE(testing::is_wrong_result(outcome) && outcome.find(message) != std::string::npos)
          << testing::name_of(app, row) << " " << distribution << ": " << (outcome.empty() ? "passed" : outcome);
    }
  }
}

TEST(BrokenPool, IsRightWithoutAMistake) {
  for (std::string const distribution : {"uniform", "normal", "integers"}) {
    expect_statistics<PoolMistake::none>(distribution, "");
  }
  expect_statistics<PoolMistake::none>("uniform", "", std::size_t{1} << 24);
  expect_statistics<PoolMistake::none>("integers", "", 100003, 1);  // one integer: nothing is random
  expect_statistics<PoolMistake::none>("integers", "", 100003, 1000000);
}
TEST(BrokenPool, SharedState) {
  for (std::string const distribution : {"uniform", "normal", "integers"}) {
    expect_statistics<PoolMistake::shared_state>(distribution, "repeated groups");
  }
}
TEST(BrokenPool, StateOfTheIndex) { expect_statistics<PoolMistake::state_of_the_index>("uniform", "not random"); }
TEST(BrokenPool, Skewed) { expect_statistics<PoolMistake::skewed>("uniform", "frequency"); }
TEST(BrokenPool, Modulo) {
  expect_statistics<PoolMistake::modulo>("integers", "frequency", std::size_t{1} << 20, std::int64_t{3} << 29);
}
TEST(BrokenPool, WideNormals) { expect_statistics<PoolMistake::wide_normals>("normal", "frequency"); }
TEST(BrokenPool, AboveTheRange) {
  expect_statistics<PoolMistake::above_the_range>("uniform", "outside of the distribution's range");
  expect_statistics<PoolMistake::above_the_range>("integers", "outside of the distribution's range");
}
TEST(BrokenPool, TileNotWritten) {
  // Poison is no number of float, and the same word 256 times in int32.
  expect_statistics<PoolMistake::tile_not_written>("uniform", "", std::size_t{1} << 24);
  expect_statistics<PoolMistake::tile_not_written>("integers", "range", std::size_t{1} << 24);
}
TEST(BrokenPool, TileTwice) {
  expect_statistics<PoolMistake::tile_twice>("uniform", "repeated groups", std::size_t{1} << 24);
}

// On a host each thread has its own state, so that the first call follows from the seed and the number of threads. The
// states go on from call to call.
TEST(Pool, OnAHostFollowsFromItsSeed) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  using Pool = Kokkos::Random_XorShift1024_Pool<Exec>;
  std::size_t const n = fewest_drawn;
  auto const numbers = [&](std::uint64_t seed, int calls) {
    Exec const exec;
    Array<float*, Exec::memory_space> const out("out", n);
    Parameters parameters;
    parameters.count = n;
    parameters.seed = seed;
    PoolPlan<Exec, float, Pool> const plan(parameters, "tessera::tests::pool");
    for (int call = 0; call < calls; ++call) plan(exec, out);
    exec.fence();
    return std::vector<float>(out.data(), out.data() + n);
  };
  EXPECT_EQ(numbers(42, 1), numbers(42, 1));
  EXPECT_NE(numbers(42, 1), numbers(43, 1));
  EXPECT_NE(numbers(42, 1), numbers(42, 2));
}

}  // namespace
}  // namespace tessera::random
