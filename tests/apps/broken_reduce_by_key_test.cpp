// Wrong results of runs must be caught. The kernel also runs with tiles of two packs here, so that runs span many.

#include <string>

#include "broken_rows.hpp"

#include "../../apps/reduce_by_key/problem.hpp"

#include <tessera/kernels/reduce_by_key.hpp>

namespace tessera::reduce_by_key {
namespace {

enum class Mistake {
  none,
  count_too_low,
  last_run_lost,
  equal_keys_joined,
  first_value_lost,
  key_of_the_next,
  writes_more
};

// All runs by one thread.
template <class T>
struct WrongRuns {
  Mistake mistake;
  std::int32_t const* keys;
  T const* values;
  std::int32_t* unique_keys;
  T* sums;
  std::int64_t* count;
  std::size_t n;

  KOKKOS_FUNCTION void operator()(int) const {
    std::size_t runs = 0;
    for (std::size_t i = 0; i < n;) {
      std::size_t const begin = i;
      T sum = mistake == Mistake::first_value_lost ? T(0) : values[i];
      for (++i; i < n && keys[i] == keys[begin]; ++i) sum = collective::Sum<T>{}(sum, values[i]);
      // Neighbouring runs of which only the lowest bits of the keys differ.
      if (mistake == Mistake::equal_keys_joined && runs > 0 && keys[begin] / 4096 == unique_keys[runs - 1] / 4096) {
        sums[runs - 1] = collective::Sum<T>{}(sums[runs - 1], sum);
        continue;
      }
      unique_keys[runs] = mistake == Mistake::key_of_the_next && i < n ? keys[i] : keys[begin];
      sums[runs++] = sum;
    }
    if (mistake == Mistake::writes_more && runs < n) sums[runs] = 0;
    if (mistake == Mistake::last_run_lost && runs > 0) sums[runs - 1] = poison_value<T>;
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
};

void expect_mistake(Mistake mistake, std::string const& field) {
  testing::expect_caught<ReduceByKey>(Wrong{mistake}, 70001, {}, field);
}

TEST(BrokenReduceByKey, RightWithoutAMistake) { testing::expect_right<ReduceByKey>(Wrong{Mistake::none}, 70001, {}); }
TEST(BrokenReduceByKey, CountTooLow) { expect_mistake(Mistake::count_too_low, "count"); }
TEST(BrokenReduceByKey, LastRunLost) { expect_mistake(Mistake::last_run_lost, "sums"); }
TEST(BrokenReduceByKey, SimilarKeysJoined) { expect_mistake(Mistake::equal_keys_joined, ""); }
TEST(BrokenReduceByKey, FirstValueLost) { expect_mistake(Mistake::first_value_lost, "sums"); }
TEST(BrokenReduceByKey, KeyOfTheNextRun) { expect_mistake(Mistake::key_of_the_next, "unique_keys"); }
TEST(BrokenReduceByKey, WritesBehindTheRuns) { expect_mistake(Mistake::writes_more, "sums"); }

// The kernel with small tiles.
struct SmallTiles {
  template <class Exec, class T>
  struct Tuning : kernels::ReduceByKeyTuning<Exec, T> {
    static constexpr int rows = 2;
  };
  static constexpr VariantInfo info{
      .name = "small_tiles", .summary = "tiles of two packs per lane", .deterministic = false};
  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::ReduceByKey<Exec, T, collective::AnyOperator<T>, Tuning<Exec, T>> {
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

TEST(ReduceByKey, WrongMeansAreRefused) {
  EXPECT_THROW(Parameters{.mean = 3}.check(), UserError);
  EXPECT_THROW(Parameters{.mean = 512}.check(), UserError);
  EXPECT_NO_THROW(Parameters{.mean = 0}.check());
  EXPECT_NO_THROW(Parameters{.mean = 256}.check());
}

}  // namespace
}  // namespace tessera::reduce_by_key
