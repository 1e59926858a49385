// Sizes, nearest names, and the command line as Options.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/options.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/cli/sweeps.hpp>
#include <tessera/core/parameters.hpp>

#include "../../common/src/driver/plan.hpp"
#include "../../common/src/driver/task.hpp"
#include "fake_app.hpp"
#include "fake_runtime.hpp"

namespace tessera {
namespace {

using Sizes = std::vector<std::size_t>;
using Names = std::vector<std::string>;

// Returns the message of the error that `action` throws, or "no error".
template <class Action>
std::string complaint(Action const& action) {
  try {
    action();
  } catch (UserError const& error) {
    return error.what();
  }
  return "no error";
}

std::string size_complaint(std::string const& text) {
  return complaint([&] { (void)parse_sizes(text); });
}

// Returns whether `text` contains `part`; the failure message shows `text`.
testing::AssertionResult has(std::string const& text, std::string const& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no `" << part << "` in: " << text;
}

TEST(sizes, digits_suffixes_and_powers) {
  EXPECT_EQ(parse_sizes("0"), Sizes{0});
  EXPECT_EQ(parse_sizes("1"), Sizes{1});
  EXPECT_EQ(parse_sizes("007"), Sizes{7});
  EXPECT_EQ(parse_sizes("1k,2^20,16M,3"), (Sizes{1024, 1 << 20, 16 << 20, 3}));
  EXPECT_EQ(parse_sizes("1K,1G,2^0"), (Sizes{1024, 1 << 30, 1}));
  EXPECT_EQ(parse_sizes("2^62"), Sizes{std::size_t{1} << 62});
  EXPECT_EQ(parse_sizes("9223372036854775807"), Sizes{9223372036854775807u});
  EXPECT_EQ(parse_sizes("4,4"), (Sizes{4, 4}));
}

TEST(sizes, powers_of_ten) {
  EXPECT_EQ(parse_sizes("1e6"), Sizes{1000000});
  EXPECT_EQ(parse_sizes("1E6,2.5e6,0e9,1e0,12e1"), (Sizes{1000000, 2500000, 0, 1, 120}));
  EXPECT_EQ(parse_sizes("1e18,9e18,1.5e18"), (Sizes{1000000000000000000u, 9000000000000000000u, 1500000000000000000u}));
  EXPECT_EQ(parse_sizes("30e-1,123456789012345e0"), (Sizes{3, 123456789012345u}));
  EXPECT_EQ(parse_sizes("1e3:4e3"), (Sizes{1000, 2000, 4000}));
}

TEST(sizes, ranges_double) {
  EXPECT_EQ(parse_sizes("2^20:2^22"), (Sizes{1 << 20, 1 << 21, 1 << 22}));
  EXPECT_EQ(parse_sizes("3:24"), (Sizes{3, 6, 12, 24}));
  EXPECT_EQ(parse_sizes("3:23"), (Sizes{3, 6, 12}));
  EXPECT_EQ(parse_sizes("5:5"), Sizes{5});
  EXPECT_EQ(parse_sizes("1,2:8,1k"), (Sizes{1, 2, 4, 8, 1024}));
  EXPECT_EQ(parse_sizes("1:2^62").size(), 63u);
  EXPECT_EQ(parse_sizes("1:9223372036854775807").size(), 63u);
}

TEST(sizes, mistakes_say_what_is_wrong) {
  EXPECT_TRUE(has(size_complaint("0x"), "bad size `0x` (`x` is not one of the suffixes k, M, G)"));
  EXPECT_TRUE(has(size_complaint("0x10"), "`x10` is not one of the suffixes"));
  EXPECT_TRUE(has(size_complaint("-3"), "negative"));
  EXPECT_TRUE(has(size_complaint("1e30"), "bad size `1e30` (larger than 2^63-1)"));
  EXPECT_TRUE(has(size_complaint("1e19"), "larger than 2^63-1"));
  EXPECT_TRUE(has(size_complaint("1e400"), "larger than 2^63-1"));
  EXPECT_TRUE(has(size_complaint("1e-400"), "not a whole number"));
  EXPECT_TRUE(has(size_complaint("1e-1"), "not a whole number"));
  EXPECT_TRUE(has(size_complaint("2.55e1"), "not a whole number"));
  EXPECT_TRUE(has(size_complaint("1e"), "the power of ten is not a whole number"));
  EXPECT_TRUE(has(size_complaint("1e6k"), "the power of ten is not a whole number"));
  EXPECT_TRUE(has(size_complaint("1e2.5"), "the power of ten is not a whole number"));
  EXPECT_TRUE(has(size_complaint("1234567890123456e0"), "more than 15 digits"));
  EXPECT_TRUE(has(size_complaint("e6"), "not a whole number"));
  EXPECT_TRUE(has(size_complaint("0x1e3"), "`x1e3` is not one of the suffixes"));
  EXPECT_TRUE(has(size_complaint("1.2.3e4"), "`.2.3e4` is not one of the suffixes"));
  EXPECT_TRUE(has(size_complaint("1.5"), "`.5` is not one of the suffixes"));
  EXPECT_TRUE(has(size_complaint("1kk"), "`kk` is not one of the suffixes"));
  EXPECT_TRUE(has(size_complaint("1m"), "`m` is not one of the suffixes"));
  EXPECT_TRUE(has(size_complaint("many"), "not a whole number"));
  EXPECT_TRUE(has(size_complaint("+3"), "not a whole number"));
  EXPECT_TRUE(has(size_complaint(""), "empty"));
  EXPECT_TRUE(has(size_complaint("1,,2"), "bad size `` in `1,,2` (empty)"));
  EXPECT_TRUE(has(size_complaint("1,"), "empty"));
  EXPECT_TRUE(has(size_complaint(":"), "empty"));
  EXPECT_TRUE(has(size_complaint("1:"), "empty"));
  EXPECT_TRUE(has(size_complaint("5:3"), "the range ends before it begins"));
  EXPECT_TRUE(has(size_complaint("0:8"), "from 0 it never leaves 0"));
  EXPECT_TRUE(has(size_complaint("1:2:3"), "is not one of the suffixes"));
  EXPECT_TRUE(has(size_complaint("1, 2"), "a blank"));
  EXPECT_TRUE(has(size_complaint(" 1"), "a blank"));
  EXPECT_TRUE(has(size_complaint("1\t"), "a blank"));
  EXPECT_TRUE(has(size_complaint("2^63"), "larger than 2^63-1"));
  EXPECT_TRUE(has(size_complaint("2^99999999999"), "larger than 2^63-1"));
  EXPECT_TRUE(has(size_complaint("2^"), "the power is not a whole number"));
  EXPECT_TRUE(has(size_complaint("2^-1"), "the power is not a whole number"));
  EXPECT_TRUE(has(size_complaint("2^3k"), "the power is not a whole number"));
  EXPECT_TRUE(has(size_complaint("3^2"), "is not one of the suffixes"));
  EXPECT_TRUE(has(size_complaint("9223372036854775808"), "larger than 2^63-1"));
  EXPECT_TRUE(has(size_complaint("99999999999999999999"), "larger than 2^63-1"));
  EXPECT_TRUE(has(size_complaint("8589934592G"), "larger than 2^63-1"));
  EXPECT_EQ(size_complaint("8589934591G"), "no error");
}

TEST(nearest, distances) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("blelcoh", "blelloch"), 2u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(edit_distance("abc", "abd"), 1u);
}

TEST(nearest, finds_typing_errors_beginnings_and_parts) {
  Names const variants{"parallel_scan", "std_scan", "hillis_steele", "blelloch", "look_back"};
  EXPECT_EQ(nearest("bleloch", variants), Names{"blelloch"});
  EXPECT_EQ(nearest("look", variants), Names{"look_back"});
  EXPECT_EQ(nearest("lookback", variants), Names{"look_back"});
  EXPECT_EQ(nearest("scan", variants), (Names{"std_scan", "parallel_scan"}));
  EXPECT_EQ(nearest("float32", {"float", "double", "int32"}), Names{"float"});
  EXPECT_EQ(nearest("xyzzy", variants), Names{});
  EXPECT_EQ(nearest("", variants), Names{});
  EXPECT_EQ(nearest("a", {"a1", "a2", "a3", "a4"}).size(), 3u);
}

TEST(nearest, texts) {
  EXPECT_EQ(unknown_name("space", "openmpi", {"cuda", "openmp"}, "this build has"),
            "unknown space `openmpi` (this build has cuda, openmp); did you mean `openmp`?");
  EXPECT_EQ(unknown_name("dtype", "quad", {"float", "double"}),
            "unknown dtype `quad` (there are float, double); choose one of them");
}

class Parsing : public testing::Test {
 protected:
  Parsing() {
    fake::machine() = {};
    app = fake::fake_app({"fake", {"good", "honest", "float_only", "openmp_only", "absent"}});
  }
  Options parse(Names const& arguments) const { return parse_options({"fake", {&app}, false}, arguments); }
  std::string fails(Names const& arguments) const {
    return complaint([&] { (void)parse(arguments); });
  }
  App app;
};

TEST_F(Parsing, defaults) {
  Options const options = parse({});
  EXPECT_EQ(options.sizes, Sizes{default_size});
  EXPECT_EQ(options.seed, 42u);
  EXPECT_FALSE(options.from_files());
  EXPECT_EQ(options.parameters, std::vector<ParameterMap>(1));
  EXPECT_EQ(options.sampling.samples, fewest_samples);
  EXPECT_FALSE(options.sampling.cold);
  EXPECT_EQ(dtypes_of(app, options), std::vector{DType::float32});
  EXPECT_EQ(select_rows(app, options, DType::float32).size(), 2u + 2 + 2 + 1);
}

// The driver's requirements on the table: unique names, and the same parameters in all cases of a sweep.
TEST(sweeps, are_well_formed) {
  std::vector<std::string_view> names;
  for (Sweep const& sweep : sweeps()) {
    EXPECT_EQ(std::ranges::count(names, sweep.name), 0) << sweep.name;
    names.push_back(sweep.name);
    EXPECT_TRUE(sweep.name.starts_with(sweep.app)) << sweep.name;
    EXPECT_FALSE(sweep.summary.empty()) << sweep.name;
    ASSERT_GT(sweep.cases.size(), 1u) << sweep.name;
    for (SweepCase const& one : sweep.cases) {
      ASSERT_EQ(one.parameters.size(), sweep.cases.front().parameters.size()) << sweep.name;
      for (auto const& [name, value] : one.parameters) {
        EXPECT_TRUE(sweep.cases.front().parameters.contains(name)) << sweep.name << " " << name;
        EXPECT_TRUE(std::holds_alternative<std::int64_t>(value)) << sweep.name << " " << name;
      }
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_TRUE(sweeps_of("fake").empty());
}

TEST(sweeps, are_the_tables_of_the_book) {
  std::vector<Sweep> const of_zip = sweeps_of("zip");
  std::vector<Sweep> const of_dot = sweeps_of("dot");
  ASSERT_EQ(of_zip.size(), 1u);
  ASSERT_EQ(of_dot.size(), 1u);
  std::vector<std::pair<std::size_t, std::int64_t>> cases;
  for (SweepCase const& one : of_zip.front().cases) {
    cases.emplace_back(one.size, std::get<std::int64_t>(one.parameters.at("tile")));
  }
  EXPECT_EQ(cases, (std::vector<std::pair<std::size_t, std::int64_t>>{{16, 4}, {128, 16}, {1 << 20, 1024}}));
  Sizes warps;
  for (SweepCase const& one : of_dot.front().cases) warps.push_back(one.size / 32);
  EXPECT_EQ(warps, (Sizes{1, 4, 32, 256, 2048, 16384, 65536}));
}

class SweepParsing : public testing::Test {
 protected:
  SweepParsing() {
    fake::machine() = {};
    zip = fake::fake_app({"zip", {"good"}});
  }
  Options parse(Names const& arguments) const { return parse_options({"zip", {&zip}, false}, arguments); }
  std::string fails(Names const& arguments) const {
    return complaint([&] { (void)parse(arguments); });
  }
  App zip;
};

TEST_F(SweepParsing, pairs_sizes_with_parameters) {
  Options const options = parse({"--sweep", "zip_p21", "--c", "2"});
  EXPECT_EQ(options.sweep, "zip_p21");
  EXPECT_EQ(options.sizes, (Sizes{16, 128, 1 << 20}));
  ASSERT_EQ(options.parameters.size(), 3u);
  EXPECT_EQ(options.parameters[1], (ParameterMap{{"c", 2.0}, {"tile", std::int64_t{16}}}));
  EXPECT_EQ(options.parameters[2], (ParameterMap{{"c", 2.0}, {"tile", std::int64_t{1024}}}));
  EXPECT_EQ(parse({"--sweep=zip_p21"}).sizes, options.sizes);
  EXPECT_EQ(parse({}).sweep, "");
}

TEST_F(SweepParsing, mistakes) {
  EXPECT_TRUE(has(fails({"--sweep", "zip_p22"}), "unknown sweep `zip_p22` (there are zip_p21)"));
  EXPECT_TRUE(has(fails({"--sweep", "dot_p22"}), "unknown sweep `dot_p22`"));
  EXPECT_TRUE(has(fails({"--sweep"}), "no value for --sweep (it needs one); write --sweep zip_p21"));
  EXPECT_TRUE(has(fails({"--sweep", "zip_p21", "--size", "8"}), "conflicting options --sweep and --size"));
  EXPECT_TRUE(has(fails({"--sweep", "zip_p21", "--input", "a.h5"}), "conflicting options --sweep and --input"));
  EXPECT_TRUE(has(fails({"--sweep", "zip_p21", "--inputs", "a"}), "conflicting options --sweep and --inputs"));
  EXPECT_TRUE(has(fails({"--sweep", "zip_p21", "--tile", "8"}), "conflicting options --sweep and --tile"));
  App const other = fake::fake_app({"fake", {"good"}});
  EXPECT_TRUE(has(complaint([&] { (void)parse_options({"fake", {&other}, false}, {"--sweep", "zip_p21"}); }),
                  "unknown option `--sweep`"));
}

TEST_F(Parsing, transport_is_one_name) {
  EXPECT_EQ(parse({}).transport, "auto");
  EXPECT_EQ(parse({"--transport", "staged"}).transport, "staged");
  EXPECT_EQ(fails({"--transport", "all"}),
            "unknown transport `all` (there are auto, staged, device, nccl); choose one of them");
  EXPECT_TRUE(has(fails({"--transport", "auto,staged"}), "unknown transport `auto,staged`"));
}

TEST_F(Parsing, from_main) {
  char const* const argv[] = {"fake", "--size", "8", "--cold"};
  Options const options = parse(arguments_of(4, argv));
  EXPECT_EQ(options.sizes, Sizes{8});
  EXPECT_TRUE(options.sampling.cold);
  EXPECT_EQ(parse(arguments_of(0, nullptr)).sizes, Sizes{default_size});
}

TEST_F(Parsing, everything_given) {
  Options const options = parse({"--size=1k,8",
                                 "--seed",
                                 "18446744073709551615",
                                 "--dtype",
                                 "double,int32",
                                 "--variant",
                                 "good,honest",
                                 "--space",
                                 "openmp",
                                 "--warmup",
                                 "0",
                                 "--samples=25",
                                 "--min-time",
                                 "0.5",
                                 "--max-time",
                                 "0.75",
                                 "--json",
                                 "r.json",
                                 "--output",
                                 "o.h5",
                                 "--c=-2.5",
                                 "--op",
                                 "max",
                                 "--exclusive",
                                 "--tile",
                                 "8"});
  EXPECT_EQ(options.sizes, (Sizes{1024, 8}));
  EXPECT_EQ(options.seed, 18446744073709551615u);
  EXPECT_EQ(options.sampling.warmup, 0u);
  EXPECT_EQ(options.sampling.samples, 25u);
  EXPECT_EQ(options.sampling.min_time, 0.5);
  EXPECT_EQ(options.sampling.max_time, 0.75);
  EXPECT_EQ(options.json, "r.json");
  EXPECT_EQ(options.output, "o.h5");
  EXPECT_EQ(std::get<double>(options.parameters.front().at("c")), -2.5);
  EXPECT_EQ(std::get<std::string>(options.parameters.front().at("op")), "max");
  EXPECT_TRUE(std::get<bool>(options.parameters.front().at("exclusive")));
  EXPECT_EQ(std::get<std::int64_t>(options.parameters.front().at("tile")), 8);
  EXPECT_EQ(dtypes_of(app, options), (std::vector{DType::float64, DType::int32}));
  auto const rows = select_rows(app, options, DType::int32);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]->info.name, "good");
  EXPECT_EQ(rows[1]->info.name, "honest");
  EXPECT_EQ(rows[0]->space, "openmp");
}

TEST_F(Parsing, parameters_to_sweep_take_lists_and_ranges) {
  auto const tiles = [&](std::string const& text) {
    std::vector<std::int64_t> values;
    for (ParameterMap const& map : parse({"--tile", text, "--c", "2"}).parameters) {
      EXPECT_EQ(std::get<double>(map.at("c")), 2);
      values.push_back(std::get<std::int64_t>(map.at("tile")));
    }
    return values;
  };
  EXPECT_EQ(tiles("8"), std::vector<std::int64_t>{8});
  EXPECT_EQ(tiles("256,512,1k"), (std::vector<std::int64_t>{256, 512, 1024}));
  EXPECT_EQ(tiles("1,2^4:100,7"), (std::vector<std::int64_t>{1, 16, 32, 64, 7}));
  EXPECT_EQ(
      fails({"--tile", "8,x"}),
      "bad tile `x` in `8,x` (not a whole number); write for example --tile 64, --tile 64,256 or --tile 2^6:2^10");
  EXPECT_TRUE(has(fails({"--tile", "8,,9"}), "bad tile `` in `8,,9` (empty); write for example --tile"));
  EXPECT_TRUE(has(fails({"--tile", "9:8"}), "bad tile `9:8` (the range ends before it begins); write"));
  EXPECT_TRUE(has(fails({"--tile", "8,1025"}), "bad value `1025` for --tile (more than 1024; it may be 1 to 1024)"));
  EXPECT_TRUE(has(fails({"--tile", "512:2k"}), "bad value `2048` for --tile (more than 1024"));
  EXPECT_TRUE(has(fails({"--c", "1,2"}), "bad value `1,2` for --c (not a number"));
  // Two sweeps give every combination; the first option varies slowest.
  ParameterSpec team{"team", "threads", std::int64_t{1}, {}};
  team.sweep = true;
  app.parameters.push_back(team);
  std::vector<ParameterMap> const both = parse({"--team", "1,2", "--tile", "8:16"}).parameters;
  ASSERT_EQ(both.size(), 4u);
  EXPECT_EQ(both[1], (ParameterMap{{"team", std::int64_t{2}}, {"tile", std::int64_t{8}}}));
  EXPECT_EQ(both[2], (ParameterMap{{"team", std::int64_t{1}}, {"tile", std::int64_t{16}}}));
}

TEST_F(Parsing, negative_numbers_are_values) {
  for (std::string const value : {"-2.5", "-.5", "-3", "-1e30"}) {
    Options const options = parse({"--c", value, "--size", "4"});
    EXPECT_EQ(std::get<double>(options.parameters.front().at("c")), std::stod(value));
    EXPECT_EQ(options.sizes, Sizes{4});
  }
  EXPECT_TRUE(has(fails({"--size", "-3"}), "bad size `-3` (negative)"));
  EXPECT_TRUE(has(fails({"--size=-3"}), "bad size `-3` (negative)"));
  EXPECT_TRUE(has(fails({"--seed", "-1"}), "bad value `-1` for --seed"));
}

TEST_F(Parsing, flags_and_their_opposite) {
  EXPECT_FALSE(std::get<bool>(parse({"--no-exclusive"}).parameters.front().at("exclusive")));
  EXPECT_TRUE(has(fails({"--exclusive", "--no-exclusive"}), "conflicting options --exclusive and --no-exclusive"));
  EXPECT_TRUE(
      has(fails({"--exclusive=true"}), "a value for --exclusive (it is a flag); write --exclusive without a value"));
  EXPECT_TRUE(has(fails({"--cold=1"}), "it is a flag"));
}

TEST_F(Parsing, several_input_files) {
  EXPECT_EQ(parse({"--input", "a.h5", "b.h5", "--cold"}).inputs, (Names{"a.h5", "b.h5"}));
  EXPECT_EQ(parse({"--input", "a.h5", "--input=b.h5"}).inputs, (Names{"a.h5", "b.h5"}));
  EXPECT_TRUE(parse({"--input", "a.h5"}).sizes.empty());
}

TEST_F(Parsing, kokkos_options_are_passed_through) {
  Options const options = parse({"--kokkos-num-threads=4", "--size", "8", "--kokkos-tools-libs=x.so"});
  EXPECT_EQ(options.kokkos_arguments, (Names{"--kokkos-num-threads=4", "--kokkos-tools-libs=x.so"}));
  EXPECT_EQ(options.sizes, Sizes{8});
}

TEST_F(Parsing, help_list_and_version_win_over_mistakes) {
  EXPECT_TRUE(parse({"--help", "--sise"}).help);
  EXPECT_TRUE(parse({"--size", "-h"}).help);
  EXPECT_TRUE(parse({"--bogus", "--version"}).version);
  EXPECT_TRUE(parse({"--list"}).list);
  EXPECT_TRUE(has(fails({"--list", "--bogus"}), "unknown option `--bogus`"));
}

TEST_F(Parsing, unknown_names_get_the_nearest) {
  EXPECT_EQ(fails({"--sise", "3"}), "unknown option `--sise` (not an option of fake); did you mean `--size`?");
  EXPECT_TRUE(has(fails({"--sise=3"}), "unknown option `--sise`"));
  EXPECT_TRUE(has(fails({"-size", "3"}), "did you mean `--size` or `--size-per-rank`?"));
  EXPECT_TRUE(has(fails({"--vari"}), "did you mean `--variant`?"));
  EXPECT_TRUE(has(fails({"--zzz"}), "see fake --help"));
  EXPECT_TRUE(has(fails({"--imputs", "dir"}), "did you mean `--inputs`"));
  EXPECT_TRUE(
      has(fails({"--variant", "god"}),
          "unknown variant `god` (there are good, honest, float_only, openmp_only, absent); did you mean `good`?"));
  EXPECT_TRUE(
      has(fails({"--space", "openmpi"}), "unknown space `openmpi` (this build has cuda, openmp); did you mean"));
  EXPECT_TRUE(
      has(fails({"--dtype", "float32"}), "unknown dtype `float32` (this build has float, double, int32); did you"));
  // An option that exists in another build.
  EXPECT_EQ(fails({"--dtype", "float,half"}),
            "dtype `half` is not in this build (it has float, double, int32); choose one of these, or build with it: "
            "-D TESSERA_DTYPES=\"float;double;int32;half\"");
  EXPECT_TRUE(has(fails({"--op", "maxx"}), "bad value `maxx` for --op (it may be sum, max, min); did you mean `max`?"));
  EXPECT_TRUE(has(fails({"case.h5"}), "did you mean `--input case.h5`?"));
  EXPECT_TRUE(has(fails({"go"}), "unexpected argument `go`"));
}

// The other integers are no dtypes of a build: int32 brings them.
TEST_F(Parsing, missing_dtypes_are_added_to_those_of_the_build) {
  Row row = app.rows.front();
  row.dtype = DType::int64;
  app.rows.push_back(row);
  EXPECT_EQ(fails({"--dtype", "half"}),
            "dtype `half` is not in this build (it has float, double, int32, int64); choose one of these, or build "
            "with it: -D TESSERA_DTYPES=\"float;double;int32;half\"");
}

TEST_F(Parsing, bad_values) {
  EXPECT_TRUE(has(fails({"--size"}), "no value for --size (it needs one); write --size N,N,...|A:B"));
  EXPECT_TRUE(has(fails({"--size", "--cold"}), "no value for --size"));
  EXPECT_TRUE(has(fails({"--input"}), "no value for --input"));
  EXPECT_TRUE(has(fails({"--size", "4", "--size", "5"}), "--size given 2 times"));
  EXPECT_EQ(fails({"--size="}), "no value for --size (it needs one); write --size N,N,...|A:B");
  EXPECT_EQ(fails({"--json="}), "no value for --json (it needs one); write --json FILE");
  EXPECT_TRUE(has(fails({"--variant", "good,,honest"}), "an empty name"));
  EXPECT_TRUE(has(fails({"--variant", "all,good"}), "`all` and other names"));
  EXPECT_TRUE(has(fails({"--seed", "1.5"}), "bad value `1.5` for --seed"));
  EXPECT_EQ(parse({"--seed", "1e3"}).seed, 1000u);
  EXPECT_EQ(parse({"--seed", "2^10"}).seed, 1024u);
  EXPECT_EQ(parse({"--seed", "1k"}).seed, 1024u);
  EXPECT_EQ(parse({"--seed", "18446744073709551615"}).seed, ~std::uint64_t{0});
  EXPECT_TRUE(has(fails({"--samples", "0"}), "bad value `0` for --samples"));
  EXPECT_TRUE(has(fails({"--samples", "2000000000"}), "bad value `2000000000` for --samples"));
  EXPECT_TRUE(has(fails({"--samples", "ten"}), "bad value `ten`"));
  EXPECT_TRUE(has(fails({"--warmup", "-1"}), "bad value `-1` for --warmup"));
  EXPECT_TRUE(has(fails({"--verify", "last"}), "bad value `last` for --verify (not every, first or sample:N)"));
  EXPECT_TRUE(has(fails({"--verify", "sample"}), "bad value `sample` for --verify"));
  EXPECT_TRUE(has(fails({"--verify", "sample:0"}), "bad value `0` for --verify sample:"));
  EXPECT_EQ(parse({"--verify", "sample:2^20"}).verify.elements, 1u << 20);
  EXPECT_EQ(parse({"--samples", "1e2"}).sampling.samples, 100u);
  EXPECT_TRUE(has(fails({"--min-time", "nan"}), "bad value `nan` for --min-time"));
  EXPECT_TRUE(has(fails({"--min-time", "-1"}), "bad value `-1` for --min-time"));
  EXPECT_TRUE(has(fails({"--size", "8", "--size-per-rank", "8"}), "--size-per-rank"));
  EXPECT_TRUE(has(fails({"--max-time", "x"}), "bad value `x` for --max-time"));
  EXPECT_TRUE(
      has(fails({"--max-time", "1", "--min-time", "2"}), "bad value `1` for --max-time (less than --min-time)"));
  EXPECT_TRUE(has(fails({"--c", "ten"}), "bad value `ten` for --c (not a number"));
  EXPECT_TRUE(has(fails({"--c", "1e999"}), "bad value `1e999` for --c"));
  EXPECT_TRUE(has(fails({"--c", "nan"}), "not finite"));
  EXPECT_TRUE(has(fails({"--c=-inf"}), "not finite"));
  EXPECT_TRUE(has(fails({"--tile", "2.5"}), "bad tile `2.5` (`.5` is not one of the suffixes"));
  EXPECT_TRUE(has(fails({"--tile", "0"}), "less than 1"));
  EXPECT_TRUE(has(fails({"--tile", "1025"}), "more than 1024"));
  EXPECT_EQ(fails({"--tile", "1"}), "no error");
  EXPECT_EQ(fails({"--tile", "1024"}), "no error");
  EXPECT_TRUE(has(fails({"--tile", "99999999999999999999"}), "larger than 2^63-1"));
}

// Whole numbers are written the same way everywhere, and a number that is too large is reported as too large.
TEST_F(Parsing, whole_numbers_of_parameters) {
  ParameterSpec window{"window", "elements", std::int64_t{3}, {}};
  window.minimum = -5;
  window.maximum = 0x1p40;
  app.parameters.push_back(window);
  auto const value = [&](std::string const& text) {
    return std::get<std::int64_t>(parse({"--window", text}).parameters.front().at("window"));
  };
  EXPECT_EQ(value("2^40"), std::int64_t{1} << 40);
  EXPECT_EQ(value("64k"), 65536);
  EXPECT_EQ(value("1e6"), 1000000);
  EXPECT_EQ(value("-5"), -5);
  EXPECT_TRUE(
      has(fails({"--window", "2^62"}), "bad value `4611686018427387904` for --window (more than 1099511627776"));
  EXPECT_TRUE(has(fails({"--window", "1e18"}), "for --window (more than 1099511627776"));
  EXPECT_TRUE(has(fails({"--window=-6"}), "bad value `-6` for --window (less than -5"));
  for (std::string const bad : {"2^63", "ten", "1.5", "-2^3"}) {
    EXPECT_TRUE(
        has(fails({"--window=" + bad}), "bad value `" + bad + "` for --window (not a whole number of 64 bits)"));
  }
}

TEST_F(Parsing, long_values_are_shortened) {
  std::string const digits(300, '9');
  for (std::string const option : {"--size", "--size-per-rank", "--seed", "--samples", "--c", "--op", "--tile",
                                   "--roof", "--variant", "--space", "--verify", "--min-time", "--level", "--data"}) {
    std::string const message = fails({option, digits + "x"});
    EXPECT_TRUE(has(message, "99999...")) << option;
    EXPECT_LT(message.size(), 260u) << message;
  }
  EXPECT_LT(fails({"--" + digits}).size(), 200u);
  EXPECT_LT(fails({digits}).size(), 200u);
  EXPECT_EQ(shortened(std::string(64, 'a')), std::string(64, 'a'));
  EXPECT_EQ(shortened(std::string(60, 'a') + "bcdefgh"), std::string(48, 'a') + "..." + "abcdefgh");
}

// Advice in a message must work if it is followed to the letter.
TEST_F(Parsing, advice_works) {
  ParameterSpec few{"few", "a parameter with few values", std::int64_t{2}, {}};
  few.minimum = 1;
  few.maximum = 4;
  few.sweep = true;
  app.parameters.push_back(few);
  auto const words_of = [](std::string const& text) {
    Names words;
    for (std::size_t begin = 0; begin <= text.size();) {
      std::size_t const end = std::min(text.find(' ', begin), text.size());
      words.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return words;
  };
  auto const between = [](std::string const& text, std::string const& first, std::string const& last) {
    std::size_t const begin = text.find(first);
    if (begin == std::string::npos) return std::string();
    std::size_t const end = text.find(last, begin + first.size());
    return text.substr(begin + first.size(), end - begin - first.size());
  };
  int followed = 0;
  auto const follow = [&](Names const& bad) {
    std::string const message = fails(bad);
    std::string const advice = message.substr(message.rfind("; ") + 2);
    SCOPED_TRACE(message);
    std::vector<Names> tries;
    if (std::string text = between(advice, "write for example ", "\n"); !text.empty()) {
      for (std::string const separator : {", --", " or --"}) {
        for (std::size_t at = 0; (at = text.find(separator)) != std::string::npos;)
          text.replace(at, separator.size(), "\n--");
      }
      for (text += "\n"; !text.empty(); text = text.substr(text.find('\n') + 1)) {
        tries.push_back(words_of(text.substr(0, text.find('\n'))));
      }
    } else if (std::string const flag = between(advice, "write ", " without a value");
               !flag.empty() && advice.ends_with(" without a value")) {
      tries.push_back({flag});
    } else if (std::string const meant = between(advice, "did you mean `", "`"); !meant.empty()) {
      std::string const typed = between(message, "`", "`");
      Names words;
      for (std::string const& word : bad) {
        if (word != typed) words.push_back(word);
        for (std::string const& part : word == typed ? words_of(meant) : Names()) words.push_back(part);
      }
      tries.push_back(words);
    } else if (std::string const first = between(message, "conflicting options ", " and "); !first.empty()) {
      for (std::string const& left_out : {first, between(message, first + " and ", " ")}) {
        Names words;
        bool skip = false;
        for (std::string const& word : bad) {
          if (word.starts_with("--")) skip = word == left_out;
          if (!skip) words.push_back(word);
        }
        tries.push_back(words);
      }
    }
    EXPECT_FALSE(tries.empty());
    for (Names const& words : tries) {
      EXPECT_EQ(fails(words), "no error") << words.front() << " " << words.back();
      ++followed;
    }
  };
  for (std::string const option : {"--size", "--size-per-rank", "--seed", "--samples", "--warmup", "--min-time",
                                   "--max-time", "--c", "--tile", "--few", "--roof", "--verify"}) {
    follow({option, "nonsense"});
    follow({option, "1,,2"});
  }
  follow({"--verify", "sample:0"});
  follow({"--verify", "sample:"});
  follow({"--samples", "0"});
  follow({"--few", "2^64"});
  follow({"--cold=1"});
  follow({"--sise", "3"});
  follow({"--vari", "good"});
  follow({"--variant", "god"});
  follow({"--space", "openmpi"});
  follow({"--dtype", "float32"});
  follow({"--level", "rang"});
  follow({"--op", "maxx"});
  follow({"case.h5"});
  follow({"--input", "a.h5", "--seed", "4"});
  follow({"--inputs", "in", "--input", "a.h5"});
  follow({"--size", "8", "--size-per-rank", "8"});
  follow({"--exclusive", "--no-exclusive"});
  follow({"--lines", "--digest"});
  follow({"--machine", "m.json", "--roof", "1,2"});
  EXPECT_GT(followed, 50);
}

TEST_F(Parsing, conflicts) {
  EXPECT_TRUE(has(fails({"--input", "a.h5", "--seed", "4"}), "conflicting options --input and --seed"));
  EXPECT_TRUE(has(fails({"--inputs", "in", "--seed", "4"}), "conflicting options --inputs and --seed"));
  EXPECT_TRUE(has(fails({"--inputs", "in", "--input", "a.h5"}), "conflicting options --input and --inputs"));
}

TEST_F(Parsing, files_and_sizes_go_together) {
  Options const both = parse({"--inputs", "in", "--size", "4", "--seed", "7"});
  EXPECT_EQ(both.inputs_directory, "in");
  EXPECT_EQ(both.sizes, (std::vector<std::size_t>{4}));
  EXPECT_EQ(both.seed, 7u);
  EXPECT_EQ(parse({"--input", "a.h5", "--size", "4"}).sizes.size(), 1u);
  EXPECT_TRUE(parse({"--inputs", "in"}).sizes.empty());
  EXPECT_EQ(parse({}).sizes.size(), 1u);
}

TEST_F(Parsing, selection_of_what_is_not_compiled) {
  auto const check = [&](Names const& arguments) {
    return complaint([&] {
      Options const options = parse(arguments);
      check_selection(app, options, dtypes_of(app, options));
    });
  };
  EXPECT_EQ(check({}), "no error");
  EXPECT_EQ(check({"--dtype", "all"}), "no error");
  EXPECT_TRUE(
      has(check({"--variant", "absent"}), "nothing to run for variant absent (fake absent is compiled for nothing)"));
  EXPECT_TRUE(has(check({"--variant", "good,absent"}), "nothing to run for variant absent"));
  EXPECT_TRUE(has(check({"--variant", "openmp_only", "--space", "cuda"}),
                  "(fake openmp_only is compiled for openmp: float, double, int32)"));
  EXPECT_TRUE(has(check({"--variant", "float_only", "--dtype", "double"}),
                  "(fake is compiled for cuda: float, double, int32;"));
  EXPECT_TRUE(
      has(check({"--variant", "good,float_only", "--dtype", "double"}), "nothing to run for variant float_only"));
  EXPECT_TRUE(has(check({"--variant", "openmp_only", "--space", "cuda,openmp"}), "nothing to run for space cuda"));
}

TEST_F(Parsing, levels) {
  auto const raise = [](VariantInfo& info) {
    if (info.name == "honest") info.level = Level::team;
    if (info.name == "absent") info.level = Level::ranks;
  };
  for (VariantInfo& variant : app.variants) raise(variant);
  for (Row& row : app.rows) raise(row.info);
  auto const names = [&](Names const& arguments) {
    Options const options = parse(arguments);
    check_selection(app, options, dtypes_of(app, options));
    Names chosen;
    for (Row const* row : select_rows(app, options, DType::float32)) {
      if (row->space == "openmp") chosen.emplace_back(row->info.name);
    }
    return chosen;
  };
  EXPECT_EQ(names({"--level", "team"}), Names{"honest"});
  EXPECT_EQ(names({"--level", "range"}), (Names{"good", "float_only", "openmp_only"}));
  EXPECT_EQ(names({"--level=team,range"}), names({}));
  EXPECT_EQ(names({"--level", "all"}), names({}));
  EXPECT_EQ(names({"--level", "range", "--variant", "good"}), Names{"good"});
  auto const wrong = [&](Names const& arguments) { return complaint([&] { (void)names(arguments); }); };
  EXPECT_TRUE(has(wrong({"--level", "teams"}),
                  "unknown level `teams` (there are range, team, lane, device, library, ranks); did you mean `team`?"));
  EXPECT_EQ(wrong({"--level", "lane"}),
            "nothing to run for level lane (no selected variant of fake has this level); see --list");
  EXPECT_EQ(wrong({"--level", "team", "--variant", "good"}),
            "nothing to run for level team (no selected variant of fake has this level); see --list");
  EXPECT_EQ(wrong({"--level", "team", "--variant", "honest,good"}),
            "conflicting options: --level with --variant good (its level is range); leave one of them out");
  EXPECT_NE(wrong({"--level", "ranks"}), "no error");  // a variant without rows in this build
}

TEST_F(Parsing, help_shows_everything_and_fits_the_page) {
  std::string const text = help_text({"fake", {&app}, false});
  for (std::string const part : {"out[i] = a[i] + c",
                                 "usage: fake [--size N,N,...|A:B | --input FILE... | --inputs DIR] [options]",
                                 "--seed N",
                                 "options of fake",
                                 "--c X",
                                 "(default 10)",
                                 "--op sum|max|min",
                                 "--exclusive",
                                 "--no-exclusive",
                                 "--tile N,N,...|A:B",
                                 "--level a,b|all",
                                 "--min-time SECONDS",
                                 "--max-time SECONDS",
                                 "(default 0.02 s)",
                                 "--cold",
                                 "--kokkos-",
                                 "-h, --help",
                                 "cuda, openmp in this build",
                                 "exit codes",
                                 "examples",
                                 "openmp_only",
                                 "atomics: bits may differ",
                                 "[not in this build]",
                                 "[only openmp]",
                                 "[only float]",
                                 "2^10"}) {
    EXPECT_TRUE(has(text, part));
  }
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = text.find('\n', begin);
    EXPECT_LE(end - begin, 100u) << text.substr(begin, end - begin);
    EXPECT_NE(text[end - 1], ' ');
    begin = end + 1;
  }
}

TEST_F(Parsing, list_is_in_columns) {
  EXPECT_EQ(list_text({&app}),
            "app      fake         out[i] = a[i] + c\n"
            "variant  good         range    same bits                 a fake\n"
            "variant  honest       range    atomics: bits may differ  a fake\n"
            "variant  float_only   range    same bits                 a fake [only float]\n"
            "variant  openmp_only  range    same bits                 a fake [only openmp]\n"
            "variant  absent       range    same bits                 a fake [not in this build]\n"
            "space    cuda\n"
            "space    openmp\n"
            "dtype    float\n"
            "dtype    double\n"
            "dtype    int32\n");
}

TEST_F(Parsing, brackets_are_literal) {
  EXPECT_EQ(parse({"--json", "[a.json]"}).json, "[a.json]");
  EXPECT_EQ(parse({"--json=[[aabb]]"}).json, "[[aabb]]");
  EXPECT_EQ(parse({"--input", "[a,b].h5", "[c,d]", "[]"}).inputs, (Names{"[a,b].h5", "[c,d]", "[]"}));
  for (std::string const text : {"[10]", "[10,20]", "[]", "{}", "\"10\"", "'10'"}) {
    EXPECT_TRUE(has(fails({"--size", text}), "`" + text + "`")) << text;
    EXPECT_TRUE(has(fails({"--size=" + text}), "`" + text + "`")) << text;
  }
  EXPECT_TRUE(has(fails({"[x]"}), "unexpected argument `[x]`"));
}

TEST(OneLine, control_characters_are_shown) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[0m\x7f"), "a\\nb\\tc\\x1b[0m\\x7f");
  EXPECT_EQ(one_line("grün"), "grün");
}

enum class Colour : std::uint8_t { red, green, blue };

struct Scalars {
  double factor = 2.5;
  std::size_t count = 7;
  bool shown = true;
  bool backwards = true;
  Colour colour = Colour::green;
  int kept = 3;  // no parameter sets it

  [[nodiscard]] static MemberSpecs<Scalars> specs() {
    return {{&Scalars::factor, {.name = "factor", .help = "a factor"}},
            {&Scalars::count, number_parameter("count", "a number", 0, 9)},
            {&Scalars::shown, {.name = "shown", .help = "a flag"}},
            {&Scalars::backwards, {.name = "order", .help = "a flag by names"}, {{"up", false}, {"down", true}}},
            {&Scalars::colour,
             {.name = "colour", .help = "a choice"},
             {{"red", Colour::red}, {"green", Colour::green}, {"blue", Colour::blue}}}};
  }
  void check() const {
    if (factor < 0 && !shown) throw UserError("negative and not shown");
  }
};

TEST(Parameters, specs_have_the_defaults_of_members) {
  std::vector<ParameterSpec> const specs = parameter_specs<Scalars>();
  std::vector<ParameterValue> defaults;
  for (ParameterSpec const& spec : specs) defaults.push_back(spec.default_value);
  EXPECT_EQ(defaults,
            (std::vector<ParameterValue>{2.5, std::int64_t{7}, true, std::string("down"), std::string("green")}));
  EXPECT_EQ(specs[1].maximum, 9);
  EXPECT_EQ(specs[3].choices, (Names{"up", "down"}));
  EXPECT_EQ(specs[4].choices, (Names{"red", "green", "blue"}));
}

TEST(Parameters, values_become_members) {
  auto const unset = typed_parameters<Scalars>({});
  EXPECT_EQ(unset.count, 7u);
  EXPECT_EQ(unset.colour, Colour::green);
  auto const set = typed_parameters<Scalars>(
      {{"factor", -1.0}, {"count", std::int64_t{9}}, {"order", std::string("up")}, {"colour", std::string("blue")}});
  EXPECT_EQ(set.factor, -1.0);
  EXPECT_EQ(set.count, 9u);
  EXPECT_TRUE(set.shown);
  EXPECT_FALSE(set.backwards);
  EXPECT_EQ(set.colour, Colour::blue);
  EXPECT_EQ(set.kept, 3);
  EXPECT_EQ(complaint([] { (void)typed_parameters<Scalars>({{"factor", -1.0}, {"shown", false}}); }),
            "negative and not shown");
}

}  // namespace
}  // namespace tessera
