// Wrong results of runs must be caught. The kernel also runs with tiles of two packs here, so that runs span many.

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "broken_rows.hpp"

#include "../../apps/reduce_by_key/problem.hpp"

#include <tessera/kernels/reduce_by_key.hpp>

namespace tessera::reduce_by_key {
namespace {

enum class Mistake {
  none,
  count_too_low,
  last_run_lost,
  low_bits_ignored,
  high_bits_ignored,
  zeros_differ,
  nans_equal,
  key_of_the_last,
  first_value_lost,
  key_of_the_next,
  writes_more
};

// All runs by one thread.
template <class T>
struct WrongRuns {
  using Value = ValueOf<T>;
  Mistake mistake;
  T const* keys;
  Value const* values;
  T* unique_keys;
  Value* sums;
  std::int64_t* count;
  std::size_t n;

  // The word of a key, as an unsigned number.
  [[nodiscard]] KOKKOS_FUNCTION static std::uint64_t word(T key) {
    return Kokkos::bit_cast<std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>(key);
  }
  [[nodiscard]] KOKKOS_FUNCTION bool same(T a, T b) const {
    constexpr int half = 4 * static_cast<int>(sizeof(T));
    switch (mistake) {
      case Mistake::low_bits_ignored: return word(a) >> half == word(b) >> half;
      case Mistake::high_bits_ignored: return word(a) << (64 - half) == word(b) << (64 - half);
      case Mistake::zeros_differ: return word(a) == word(b) && a == b;
      case Mistake::nans_equal: return a == b || (a != a && b != b);
      default: return a == b;
    }
  }

  KOKKOS_FUNCTION void operator()(int) const {
    std::size_t runs = 0;
    for (std::size_t i = 0; i < n;) {
      std::size_t const begin = i;
      Value sum = mistake == Mistake::first_value_lost ? Value(0) : values[i];
      for (++i; i < n && same(keys[i - 1], keys[i]); ++i) sum = collective::Sum<Value>{}(sum, values[i]);
      unique_keys[runs] = mistake == Mistake::key_of_the_next && i < n ? keys[i] : keys[begin];
      if (mistake == Mistake::key_of_the_last) unique_keys[runs] = keys[i - 1];
      sums[runs++] = sum;
    }
    if (mistake == Mistake::writes_more && runs < n) sums[runs] = 0;
    if (mistake == Mistake::last_run_lost && runs > 0) sums[runs - 1] = poison_value<Value>;
    *count = static_cast<std::int64_t>(runs) - (mistake == Mistake::count_too_low ? 1 : 0);
  }
};

struct Wrong {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& in,
                  OutputOn<ReduceByKey, Exec, T> const& out) const {
    Kokkos::parallel_for("tessera::tests::broken_reduce_by_key", over<int>(exec, 1),
                         WrongRuns<T>{mistake, in.keys.data(), in.values.data(), out.unique_keys.data(),
                                      out.sums.data(), out.count.data(), in.keys.extent(0)});
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const { return written_fields(Mode::reduce); }
  [[nodiscard]] bool of_floats() const {
    return mistake >= Mistake::zeros_differ && mistake <= Mistake::key_of_the_last;
  }
};

void expect_mistake(Mistake mistake, std::string const& field, ParameterMap const& given = {}) {
  testing::expect_caught<ReduceByKey>(Wrong{mistake}, 70001, given, field);
}

TEST(BrokenReduceByKey, RightWithoutAMistake) { testing::expect_right<ReduceByKey>(Wrong{Mistake::none}, 70001, {}); }
TEST(BrokenReduceByKey, CountTooLow) { expect_mistake(Mistake::count_too_low, "count"); }
TEST(BrokenReduceByKey, LastRunLost) { expect_mistake(Mistake::last_run_lost, "sums"); }
// One of 1024 neighbours has a key with the same high bits, and one has a key with the same low bits.
ParameterMap const of_short_runs{{"mean", std::int64_t{1}}};
TEST(BrokenReduceByKey, LowBitsOfKeysIgnored) { expect_mistake(Mistake::low_bits_ignored, "", of_short_runs); }
TEST(BrokenReduceByKey, HighBitsOfKeysIgnored) { expect_mistake(Mistake::high_bits_ignored, "", of_short_runs); }
TEST(BrokenReduceByKey, ZerosAndNaN) {
  testing::expect_all_caught<ReduceByKey, Wrong>({Mistake::zeros_differ, Mistake::nans_equal, Mistake::key_of_the_last},
                                                 70001, DataKind::adversarial, {});
}
TEST(BrokenReduceByKey, FirstValueLost) { expect_mistake(Mistake::first_value_lost, "sums"); }
TEST(BrokenReduceByKey, KeyOfTheNextRun) { expect_mistake(Mistake::key_of_the_next, "unique_keys"); }
TEST(BrokenReduceByKey, WritesBehindTheRuns) { expect_mistake(Mistake::writes_more, "sums"); }

// The kernel with small tiles.
struct SmallTiles {
  template <class Exec, class T>
  struct Tuning : kernels::ReduceByKeyTuning<Exec, ValueOf<T>, T> {
    static constexpr int rows = 2;
  };
  static constexpr VariantInfo info{
      .name = "small_tiles", .summary = "tiles of two packs per lane", .deterministic = false};
  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::ReduceByKey<Exec, ValueOf<T>, collective::AnyOperator<ValueOf<T>>, T, Tuning<Exec, T>> {
    Plan(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& in)
        : Plan::ReduceByKey(exec, in.keys.extent(0), {in.parameters.op}, in.parameters.team) {}
    void operator()(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& in,
                    OutputOn<ReduceByKey, Exec, T> const& out) {
      Plan::ReduceByKey::operator()(exec, in.keys, in.values, out.unique_keys, out.sums, out.count);
    }
    [[nodiscard]] std::vector<WrittenField> outputs() const { return written_fields(Mode::reduce); }
  };
};

// Runs of every length, from one element to the whole array; teams of several threads, and every operator.
TEST(ReduceByKey, RunsOverTiles) {
  App const app = testing::app_with({rows<ReduceByKey, SmallTiles>()});
  for (std::string const op : {"sum", "max", "min"}) {
    for (std::int64_t const mean : {0, 1, 2, 32, 256}) {
      for (std::int64_t const team : {0, 3}) {
        for (std::size_t const n : {1, 63, 64, 65, 129, 4099, 20011}) {
          ParameterMap const given = testing::with_defaults(app, {{"op", op}, {"mean", mean}, {"team", team}});
          for (Row const& row : app.rows) {
            if (!testing::is_wanted(row)) continue;
            auto const problem_case = app.generate(row.dtype, n, 7, given);
            std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 2);
            if (outcome.starts_with("skipped: ")) continue;
            EXPECT_EQ(outcome, "") << testing::name_of(app, row) << " of " << n << ", " << op << ", mean " << mean
                                   << ", team " << team;
          }
        }
      }
    }
  }
}

// The same with keys that are NaN, zeros of both signs or infinities.
TEST(ReduceByKey, SpecialKeysOverTiles) {
  App const app = testing::app_with({rows<ReduceByKey, SmallTiles>()});
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row) || unit_roundoff(row.dtype) == 0) continue;
    for (std::int64_t const mean : {1, 8, 256}) {
      ParameterMap const given = testing::with_defaults(app, {{"op", std::string("max")}, {"mean", mean}});
      auto const problem_case = app.generate_data(row.dtype, 20011, 7, DataKind::adversarial, given);
      EXPECT_EQ(testing::run_row(row, *problem_case, problem_case->reference(), 2), "")
          << testing::name_of(app, row) << ", mean " << mean;
    }
  }
}

// The mean length of generated runs, and that an element's run begins where the generator says.
TEST(ReduceByKey, GeneratedRuns) {
  for (std::uint64_t const mean : {1, 2, 32, 256}) {
    Runs const runs{42, mean};
    std::uint64_t heads = 0;
    constexpr std::uint64_t n = 100000;
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t const head = runs.head_of(i);
      ASSERT_LE(head, i);
      ASSERT_EQ(runs.head_of(head), head) << i;
      if (i > 0) {
        ASSERT_TRUE(head == i || head == runs.head_of(i - 1)) << i;
      }
      heads += head == i ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(heads) * static_cast<double>(mean) / n, 1, 0.2) << mean;
  }
  EXPECT_EQ((Runs{42, 0}.head_of(1234567)), 0U);
}

// A thread keeps the last block of the generator: neither the order of the elements nor other runs may matter.
TEST(ReduceByKey, GeneratedRunsInAnyOrder) {
  constexpr std::uint64_t n = 3001;
  for (std::uint64_t const mean : {1, 2, 32, 256}) {
    Runs const runs{42, mean};
    std::vector<std::uint64_t> heads;
    for (std::uint64_t i = 0; i < n; ++i) heads.push_back(runs.head_of(i));
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t const any = i * 1237 % n;
      (void)Runs{43, mean}.head_of(any);
      ASSERT_EQ(runs.head_of(any), heads[any]) << mean << ", " << any;
      (void)Runs{42, 512 / mean}.head_of(any);
      ASSERT_EQ(runs.head_of(any), heads[any]) << mean << ", " << any;
    }
  }
}

TEST(ReduceByKey, WrongMeansAreRefused) {
  EXPECT_THROW(Parameters{.mean = 3}.check(), UserError);
  EXPECT_THROW(Parameters{.mean = 512}.check(), UserError);
  EXPECT_NO_THROW(Parameters{.mean = 0}.check());
  EXPECT_NO_THROW(Parameters{.mean = 256}.check());
}

TEST(ReduceByKey, LengthsThatTheOutputCannotHoldAreSkipped) {
  constexpr std::size_t most = 2147483647;
  EXPECT_THROW((void)with_lengths(Mode::lengths, most + 1), Skip);
  EXPECT_EQ(with_lengths(Mode::lengths, most), Mode::lengths);
  EXPECT_EQ(with_lengths(Mode::reduce, most + 1), Mode::reduce);
}

}  // namespace
}  // namespace tessera::reduce_by_key
