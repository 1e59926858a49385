// Wrong estimates must be caught, each with one typical mistake; right ones agree bit for bit, and with the exact
// value.

#include "broken_rows.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../../apps/monte_carlo/block_sums.hpp"
#include "../../apps/monte_carlo/estimate.hpp"
#include "../../apps/monte_carlo/points.hpp"
#include "../../apps/monte_carlo/problem.hpp"

namespace tessera::monte_carlo {

App app();

namespace {

using testing::expect_caught;
using testing::expect_right;
using std::string_literals::operator""s;

enum class Mistake {
  none,
  pairs_swapped,       // the second of two points has the cosine
  last_block_lost,     // the last 256 points of all
  ranks_share_points,  // the upper half of the replicates has the points of the lower half
  same_sign,           // both options of an antithetic pair have the same z
  wrong_drift,         // the price's mean is exp(s^2)
  point_skipped,       // the Sobol sequence begins at its second point
  no_shift,            // all Sobol sequences are the same
  end_of_cell,         // u and v of Sobol points as of random points: the end of a cell, 24 bits in float
  upper_bits_of_v,     // 24
  dimension_shifted,   // the second coordinate is that of the next point
  point_twice,         // the first point of a sequence in the place of its second
  error_twice,         // twice the standard error of right sums
  estimate_off         // by a few roundings
};

template <Mistake mistake, class Points>
struct WrongPoints : Points {
  std::uint64_t half;
  [[nodiscard]] KOKKOS_FUNCTION auto at(std::size_t r, std::uint64_t first, std::uint64_t j) const {
    if constexpr (requires { Points::points; }) {  // of a Sobol sequence
      using T = decltype(Points::at(r, first, j));
      Point point = Points::points.at(r, first, j);
      if (mistake == Mistake::end_of_cell) return normals_of<T>(point)[0];
      if (mistake == Mistake::upper_bits_of_v) point.b &= 0xffff'ff00U;
      if (mistake == Mistake::dimension_shifted) point.b = Points::points.at(r, first, j + 1).b;
      if (mistake == Mistake::upper_bits_of_v || mistake == Mistake::dimension_shifted) return Points::normal_of(point);
    }
    if (mistake == Mistake::point_twice && j == 1) j = 0;
    if (mistake == Mistake::ranks_share_points && first >= half) first -= half;
    if (mistake == Mistake::point_skipped) ++j;
    if (mistake == Mistake::pairs_swapped) j = (first + j) % 2 == 0 ? j + 1 : j - 1;
    return Points::at(mistake == Mistake::no_shift ? 0 : r, first, j);
  }
};

template <Mistake mistake, class T>
struct WrongValue {
  Call<T> call;
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t operator()(T z) const {
    Call<T> wrong = call;
    if (mistake == Mistake::wrong_drift) wrong.drift = -call.drift;
    if (mistake == Mistake::same_sign) wrong.variates = Variates::plain;
    return wrong(z);
  }
};

template <class Points, class Value>
struct SumReplicate {
  Points points;
  Value value;
  std::int64_t* sums;
  std::uint64_t n;
  std::uint64_t lost;  // points at the end
  std::size_t threads;
  KOKKOS_FUNCTION void operator()(std::size_t index) const {
    std::size_t const r = index / threads;
    std::uint64_t const less = n / replicates;
    std::uint64_t const larger = n % replicates;
    std::uint64_t const first = r * less + (r < larger ? r : larger);
    std::uint64_t const own = less + (r < larger ? 1 : 0);
    std::int64_t sum = 0;
    for (std::uint64_t j = index % threads; j < own; j += threads) {
      if (first + j < n - lost) sum += value(points.at(r, first, j));
    }
    Kokkos::atomic_add(&sums[r], sum);
  }
};

template <Mistake mistake>
struct Broken {
  // Only in float may the roundings of points exceed the standard error. Without the lower bits of v all points of a
  // sequence turn by an angle, which leaves the mean: in float, roundings hide it.
  template <ExecutionSpace Exec, std::floating_point T>
    requires((mistake != Mistake::error_twice || std::same_as<T, float>) &&
             (mistake != Mistake::upper_bits_of_v || std::same_as<T, double>))
  void operator()(Exec const& exec, InputOn<MonteCarlo, Exec, T> const& in,
                  OutputOn<MonteCarlo, Exec, T> const& out) const {
    Kokkos::deep_copy(exec, out.sums, std::int64_t{0});
    Parameters const& of = in.parameters;
    with_points<T>(of, [&]<class Points, class Value>(Points const& points, Value const& value) {
      WrongPoints<mistake, Points> const wrong{points, of.count / 2};
      if constexpr (!std::is_same_v<Value, Call<T>>) {
        sum(exec, wrong, value, of, out.sums.data());
      } else {
        sum(exec, wrong, WrongValue<mistake, T>{value}, of, out.sums.data());
      }
    });
    EstimatePlan<Exec, T>(of, "tessera::tests::broken_monte_carlo").finish(exec, out);
    Kokkos::parallel_for(
        "tessera::tests::broken_monte_carlo", over<int>(exec, 1), KOKKOS_LAMBDA(int) {
          if (mistake == Mistake::error_twice) out.standard_error() *= 2;
          if (mistake == Mistake::estimate_off) out.estimate() *= 1 + 8 * Kokkos::Experimental::epsilon_v<T>;
        });
  }
  template <class Exec, class Points, class Value>
  static void sum(Exec const& exec, Points const& points, Value const& value, Parameters const& of,
                  std::int64_t* sums) {
    std::size_t const threads = 64;
    std::uint64_t const lost = mistake == Mistake::last_block_lost ? 256 : 0;
    Kokkos::parallel_for("tessera::tests::broken_monte_carlo", over(exec, threads * replicates),
                         SumReplicate<Points, Value>{points, value, sums, of.count, lost, threads});
  }
};

constexpr std::size_t default_size = std::size_t{1} << 24;  // a user's

ParameterMap call(std::string const& points = "random", std::string const& variates = "plain") {
  return {{"quantity", "call"s}, {"points", points}, {"variates", variates}};
}

TEST(BrokenMonteCarlo, IsRightWithoutAMistake) {
  Broken<Mistake::none> const right;
  expect_right<MonteCarlo>(right, default_size, {});
  expect_right<MonteCarlo>(right, 100003, {{"points", "sobol"s}});
  expect_right<MonteCarlo>(right, 100003, {{"quantity", "coin"s}});
  expect_right<MonteCarlo>(right, 100003, call());
  expect_right<MonteCarlo>(right, 100003, call("sobol", "antithetic"));
}
TEST(BrokenMonteCarlo, LastBlockLost) {
  Broken<Mistake::last_block_lost> const wrong;
  expect_caught<MonteCarlo>(wrong, default_size, {}, "sums: 1 of 32");
  expect_caught<MonteCarlo>(wrong, 100003, call(), "sums: 1 of 32");
  expect_caught<MonteCarlo>(wrong, 100003, call("sobol", "control"), "sums: 1 of 32");
}
TEST(BrokenMonteCarlo, RanksSharePoints) {
  Broken<Mistake::ranks_share_points> const wrong;
  expect_caught<MonteCarlo>(wrong, default_size, {}, "first at [16]");
  expect_caught<MonteCarlo>(wrong, 100003, call(), "first at [16]");
}
// Exchanged within a replicate, two points have the same sum; at its ends they do not.
TEST(BrokenMonteCarlo, PairsSwapped) {
  expect_caught<MonteCarlo>(Broken<Mistake::pairs_swapped>{}, 100003, call(), "sums");
}
TEST(BrokenMonteCarlo, SameSign) {
  expect_caught<MonteCarlo>(Broken<Mistake::same_sign>{}, default_size, call("random", "antithetic"), "sums");
}
TEST(BrokenMonteCarlo, WrongDrift) {
  expect_caught<MonteCarlo>(Broken<Mistake::wrong_drift>{}, 100003, call(), "sums");
}
TEST(BrokenMonteCarlo, PointSkipped) {
  expect_caught<MonteCarlo>(Broken<Mistake::point_skipped>{}, default_size, {{"points", "sobol"s}}, "sums");
  expect_caught<MonteCarlo>(Broken<Mistake::point_skipped>{}, 100003, call("sobol"), "sums");
}
TEST(BrokenMonteCarlo, NoShift) {
  expect_caught<MonteCarlo>(Broken<Mistake::no_shift>{}, 100003, {{"points", "sobol"s}}, "first at [1]");
}
TEST(BrokenMonteCarlo, EndOfCell) {
  expect_caught<MonteCarlo>(Broken<Mistake::end_of_cell>{}, default_size, call("sobol"), "sums");
}
TEST(BrokenMonteCarlo, UpperBitsOfV) {
  if (std::ranges::count(testing::dtypes_of_this_build(), DType::float64) == 0) GTEST_SKIP() << "no double";
  expect_caught<MonteCarlo>(Broken<Mistake::upper_bits_of_v>{}, default_size, call("sobol"), "sums");
}
TEST(BrokenMonteCarlo, DimensionShifted) {
  expect_caught<MonteCarlo>(Broken<Mistake::dimension_shifted>{}, default_size, call("sobol"), "sums");
}
TEST(BrokenMonteCarlo, PointTwice) {
  expect_caught<MonteCarlo>(Broken<Mistake::point_twice>{}, default_size, call("sobol"), "sums");
}

// The roundings of points may exceed the standard error, which must follow from the row's own sums.
TEST(BrokenMonteCarlo, ErrorTwice) {
  expect_caught<MonteCarlo>(Broken<Mistake::error_twice>{}, 1 << 22, call("sobol", "control"),
                            "standard_error: 1 of 1");
  expect_caught<MonteCarlo>(Broken<Mistake::estimate_off>{}, 100003, call("sobol"), "estimate: 1 of 1");
}
// Nearly all points are worth exactly 0.
TEST(MonteCarlo, AnOptionThatHardlyEverPaysIsChecked) {
  Broken<Mistake::none> const right;
  App const checked = testing::app_with({testing::rows_of<MonteCarlo>(right)});
  for (ParameterMap const& given :
       {ParameterMap{{"quantity", "call"s}, {"strike", 200.0}}, ParameterMap{{"quantity", "call"s}, {"strike", 300.0}},
        ParameterMap{{"quantity", "call"s}, {"strike", 9000.0}},
        ParameterMap{{"quantity", "call"s}, {"rate", -1.0}, {"years", 2.0}}}) {
    for (Row const& row : checked.rows) {
      if (!testing::is_wanted(row)) continue;
      auto const problem_case = checked.generate(row.dtype, 1 << 16, 42, testing::with_defaults(checked, given));
      EXPECT_EQ(testing::verdict_of(row, *problem_case, problem_case->reference(), false), "")
          << testing::name_of(checked, row);
    }
  }
}

// The references of the dtypes of this build.
template <class Body>
void for_each_reference(std::size_t size, ParameterMap const& given, Body const& body) {
  App const all = app();
  for (DType const dtype : testing::dtypes_of_this_build()) {
    if (dtype != DType::float32 && dtype != DType::float64) continue;
    auto const problem_case = all.generate(dtype, size, 42, testing::with_defaults(all, given));
    body(problem_case->reference(), problem_case->output_shapes());
  }
}

// A mistake that reference and variants share shows against the exact value.
template <class T>
Verdict verdict_on(ExpectedField expected, double estimate) {
  auto const value = std::make_shared<T>(static_cast<T>(estimate));
  expected.value = {static_cast<double>(*value)};
  return verify(expected, {"estimate", dtype_of<T>, {}, value}, 4);
}
TEST(MonteCarlo, TheEstimateMustAgreeWithTheExactValue) {
  for (auto const& [given, exact] : std::vector<std::pair<ParameterMap, double>>{{{}, 3.141592653589793},
                                                                                 {{{"quantity", "coin"s}}, 0.5},
                                                                                 {call(), 10.450583572185565},
                                                                                 {call("sobol"), 10.450583572185565}}) {
    for_each_reference(
        1 << 20, given, [&](std::vector<ExpectedField> const& expected, std::vector<HostField> const& as) {
          double const sigma = expected[2].value[0];
          auto const verdict = [&](double estimate) {
            return as[1].dtype == DType::float32 ? verdict_on<float>(expected[1], estimate)
                                                 : verdict_on<double>(expected[1], estimate);
          };
          EXPECT_TRUE(verdict(exact + 6.5 * sigma).passed);
          Verdict const wrong = verdict(exact - 7.53 * sigma);  // 7.52 in float with Sobol points
          EXPECT_FALSE(wrong.passed);
          EXPECT_NE(wrong.message.find("7.5"), std::string::npos) << wrong.message;
          EXPECT_NE(wrong.message.find("standard errors from the exact"), std::string::npos) << wrong.message;
        });
  }
}

double standard_error(std::size_t size, ParameterMap const& given) {
  double error = 0;
  for_each_reference(size, given, [&](auto const& expected, auto const&) { error = expected[2].value[0]; });
  return error;
}
// 64 times the points: an eighth of the error. The error of an error from 32 replicates is 13%, of the quotient of two
// 18%; a factor of two is four times that.
TEST(MonteCarlo, TheStandardErrorShrinksAsTheRootOfThePoints) {
  for (std::string const quantity : {"pi", "call"}) {
    for (std::string const variates : {"plain", "antithetic", "control"}) {
      ParameterMap const given{{"quantity", quantity}, {"variates", variates}};
      double const quotient = standard_error(1 << 16, given) / standard_error(1 << 22, given);
      EXPECT_GT(quotient, 4) << quantity << " " << variates;
      EXPECT_LT(quotient, 16) << quantity << " " << variates;
    }
    ParameterMap const sobol{{"quantity", quantity}, {"points", "sobol"s}};
    EXPECT_GT(standard_error(1 << 16, sobol) / standard_error(1 << 22, sobol), 16) << quantity;
  }
}
// The variance of one point: pi (4 - pi); of the coin 1/4; of the option from its second moment.
TEST(MonteCarlo, TheStandardErrorIsThatOfThePoints) {
  std::size_t const n = 1 << 20;
  double const root = std::sqrt(static_cast<double>(n));
  EXPECT_NEAR(standard_error(n, {}), 1.6422 / root, 0.6 * 1.6422 / root);
  EXPECT_NEAR(standard_error(n, {{"quantity", "coin"s}}), 0.5 / root, 0.6 * 0.5 / root);
  double const plain = standard_error(n, call());
  EXPECT_NEAR(plain, 14.7 / root, 0.6 * 14.7 / root);
  EXPECT_LT(standard_error(n, call("random", "antithetic")), 0.7 * plain);
  EXPECT_LT(standard_error(n, call("random", "control")), 0.5 * plain);
  EXPECT_LT(standard_error(n, call("sobol")), 0.1 * plain);
}

// The note states what the estimate must satisfy, if there are points enough.
TEST(MonteCarlo, TheNoteHasTheBound) {
  App const all = app();
  auto const note_of = [&](std::size_t size) {
    Row const& row = all.rows.front();
    auto const problem_case = all.generate(row.dtype, size, 42, testing::with_defaults(all, {}));
    std::unique_ptr<RowRun> const run = row.start(*problem_case);
    run->enqueue();
    run->fence();
    return run->note();
  };
  std::string const note = note_of(1 << 16);
  EXPECT_NE(note.find(" of 7 sigma ("), std::string::npos) << note;
  EXPECT_NE(note.find("), p<1e-06"), std::string::npos) << note;
  EXPECT_EQ(note_of(1000).find("of 7"), std::string::npos);
}

// Runs that begin and end within a counter, or hold no whole one.
bool operator==(Point left, Point right) { return left.a == right.a && left.b == right.b; }
template <class Points>
void expect_points_of_runs(Points const& points) {
  for (std::uint64_t const first : {0, 1, 2, 3, 100}) {
    for (std::uint64_t begin = 0; begin < 5; ++begin) {
      for (std::uint64_t end = 0; end < 13; ++end) {
        std::uint64_t next = begin;
        points.for_each(0, first, begin, end, [&](auto const& point) {
          EXPECT_TRUE(point == points.at(0, first, next++)) << first << " " << begin << " " << end;
        });
        EXPECT_EQ(next, std::max(begin, end)) << first << " " << begin;
      }
    }
  }
}
TEST(MonteCarlo, RunsOfRandomPointsAreThePoints) {
  using Philox = collective::Philox4x32;
  collective::RandomWords<Philox> const words(7, 0);
  expect_points_of_runs(RandomPoints<Philox>{words});
  expect_points_of_runs(RandomNormals<float, Philox>{words});
  expect_points_of_runs(SobolNormals<float>{shifted_points<Philox>(7)});
}
// Elements of `random --distribution normal`.
TEST(MonteCarlo, NormalsAreThoseOfTheStream) {
  using Philox = collective::Philox4x32;
  collective::RandomWords<Philox> const words(7, 0);
  RandomNormals<float, Philox> const normals{words};
  RandomNormals<double, Philox> const wide{words};
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(normals.at(0, i / 2, i - i / 2), collective::Normal<float>{}.at(words, i)) << i;
    EXPECT_NEAR(wide.at(0, i, 0), normals.at(0, i, 0), 1e-5) << i;
  }
}

// Many points have large blocks; few points show that these give the same sums.
TEST(MonteCarlo, BlocksOfAnySizeGiveTheSameSums) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  using Sums = BlockSums<Exec, double>;
  EXPECT_EQ(Sums::block_of(3), 1U << 14);
  EXPECT_EQ(Sums::block_of((1U << 29) - 1), 1U << 14);
  EXPECT_EQ(Sums::block_of(1U << 29), 1U << 15);
  EXPECT_EQ(Sums::block_of(std::uint64_t{1} << 37), 1U << 16);
  Exec const exec;
  Parameters parameters;
  parameters.count = (1 << 22) + 3;
  std::vector<std::int64_t> first;
  for (std::uint64_t const block : {1U << 14, 1U << 15, 1U << 16, 7U}) {
    Sums const sum(exec, parameters, "tessera::tests::block_sums", block);
    Array<std::int64_t*, Kokkos::HostSpace> const sums("tessera::tests::sums", replicates);
    sum(exec, sums, 0, sum.count());
    exec.fence();
    std::vector<std::int64_t> const all(sums.data(), sums.data() + replicates);
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << block;
  }
}

// Sums are integers: on one space all variants and team sizes give the same bits.
TEST(MonteCarlo, AllVariantsGiveTheSameBits) {
  App const all = app();
  for (ParameterMap const& of : {ParameterMap{}, ParameterMap{{"quantity", "coin"s}}, call(), call("sobol", "control"),
                                 call("random", "antithetic")}) {
    std::map<std::string, std::vector<HostField>> first;  // by space and dtype
    for (std::int64_t const team : {1, 2, 3}) {
      for (Row const& row : all.rows) {
        if (!testing::is_wanted(row)) continue;
        ParameterMap given = of;
        given["team"] = team;
        auto const problem_case = all.generate(row.dtype, 100003, 42, testing::with_defaults(all, given));
        std::unique_ptr<RowRun> run;
        try {
          run = row.start(*problem_case);
        } catch (Skip const&) {
          continue;
        }
        run->poison();
        run->enqueue();
        run->fence();
        std::vector<HostField> const fields = run->fetch();
        auto const [known, is_new] = first.try_emplace(row.space + std::string(name_of(row.dtype)), fields);
        for (std::size_t f = 0; f < fields.size() && !is_new; ++f) {
          EXPECT_TRUE(same_bits(fields[f], known->second[f])) << testing::name_of(all, row) << " " << fields[f].name;
        }
      }
    }
    EXPECT_FALSE(first.empty());
  }
}

TEST(MonteCarlo, MarketsOutOfRangeAreRefused) {
  App const all = app();
  auto const refused = [&](ParameterMap const& given) {
    try {
      (void)all.footprint_of_size(testing::dtypes_of_this_build().front(), 64, testing::with_defaults(all, given));
    } catch (UserError const& mistake) {
      return std::string(mistake.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused({{"volatility", 0.5}, {"years", 4.0}}), "");
  EXPECT_EQ(
      refused({{"volatility", 0.5}, {"years", 9.0}}),
      "volatility * sqrt(years) = 1.5 is above 1 (few points would decide the mean); use a smaller --volatility or "
      "--years");
  EXPECT_EQ(refused({{"quantity", "coin"s}, {"variates", "control"s}}),
            "a coin has no variates (there is nothing to gain); use --variates plain, or --quantity pi or call");
  EXPECT_NE(refused({{"strike", 1e6}}), "");
  EXPECT_NE(refused({{"spot", 1e6}}), "");
  // The strike is the spot price: only what else the message advises helps.
  ParameterMap const far{{"rate", 1.0}, {"years", 25.0}, {"volatility", 0.1}};
  EXPECT_TRUE(refused(far).ends_with("use a --strike nearer to --spot, a --rate nearer to 0 or fewer --years"));
  EXPECT_EQ(refused({{"rate", 0.1}, {"years", 25.0}, {"volatility", 0.1}}), "");
  EXPECT_EQ(refused({{"rate", 1.0}, {"years", 4.0}, {"volatility", 0.1}}), "");
}

// As NCCL gives them to a GPU, one rank behind the other, and as the host adds them.
TEST(MonteCarlo, SumsOfAllRanksAreAdded) {
  constexpr std::size_t ranks = 3;
  std::vector<std::int64_t> stored;
  for (std::size_t i = 0; i < ranks * replicates; ++i) stored.push_back(static_cast<std::int64_t>(i * i));
  std::int64_t sums[replicates] = {};
  StoredSums{stored.data(), ranks}.add_to(sums);
  GivenSums given{};
  std::copy_n(stored.data(), replicates, given.of);
  given.add_to(sums);
  for (std::size_t r = 0; r < replicates; ++r) {
    EXPECT_EQ(sums[r], 2 * stored[r] + stored[replicates + r] + stored[2 * replicates + r]);
  }
}

}  // namespace
}  // namespace tessera::monte_carlo
