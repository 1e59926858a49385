// Half and bfloat16: a lost, doubled or misplaced element must show in results of 8 or 11 bits, at full size with
// default data and options. The test damages the input and runs the unchanged row: its result must not pass against the
// reference of the right input, and the check must not be weak. A build without these dtypes runs no test.
//
// TESSERA_TEST_LATE_SIZE replaces 2^24 as the larger size, as in late_mistakes_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tessera/core/half.hpp>
#include <tessera/table/runtime.hpp>
#include <tessera/verify/verify.hpp>

#include "all_apps.hpp"
#include "app_cases.hpp"
#include "harness.hpp"

namespace tessera::testing {
namespace {

constexpr std::size_t tile = 256;

/// Mini-apps and variants whose result does not depend on the order of neighbours.
std::set<std::string_view> const sums{"dot", "axis_sum", "read", "butterfly"};
/// Variants that read no element.
std::set<std::string_view> const reads_nothing{"divergence", "multiply_add", "launch"};

/// The first input field of the dtype, which can be damaged and restored.
class Spoilt {
 public:
  explicit Spoilt(Case& problem_case) : case_(problem_case) {
    for (HostField const& field : problem_case.input()) {
      if (field.dtype != problem_case.dtype()) continue;
      if (data_ == nullptr) {
        // The case owns the memory; it is const only for rows.
        data_ = static_cast<std::uint16_t*>(const_cast<void*>(field.data.get()));
        kept_.assign(data_, data_ + field.count());
      } else if (field.count() == kept_.size()) {
        partners_.push_back(static_cast<std::uint16_t const*>(field.data.get()));
      }
    }
  }
  ~Spoilt() { restore(); }
  Spoilt(Spoilt const&) = delete;
  Spoilt& operator=(Spoilt const&) = delete;

  void restore() {
    std::copy(kept_.begin(), kept_.end(), data_);
    changed();
  }
  /// Must be called after a change: a GPU holds a copy of the input and must fetch it again.
  void changed() { case_.release_device_input(); }
  [[nodiscard]] std::size_t size() const { return kept_.size(); }
  std::uint16_t& operator[](std::size_t i) { return data_[i]; }

  /// Returns the first index from i on whose element is nonzero and has nonzero partners in the other fields, because
  /// the fields are multiplied.
  [[nodiscard]] std::size_t counting(std::size_t i) const {
    auto const is_zero = [&](std::uint16_t const* field) { return (field[i] & 0x7fff) == 0; };
    while (i + 1 < kept_.size() && (is_zero(kept_.data()) || std::ranges::any_of(partners_, is_zero))) ++i;
    return i;
  }
  /// Returns the first index from i on whose value differs from the next one.
  [[nodiscard]] std::size_t unlike_next(std::size_t i) const {
    while (i + 2 < kept_.size() && kept_[i] == kept_[i + 1]) ++i;
    return i;
  }

 private:
  Case& case_;
  std::uint16_t* data_ = nullptr;
  std::vector<std::uint16_t> kept_;
  std::vector<std::uint16_t const*> partners_;
};

/// Returns "passes", "weak" or "FAILED", for all fields that the row writes.
std::string judged(Row const& row, Case& problem_case, std::vector<ExpectedField> const& expected) {
  std::unique_ptr<RowRun> const run = row.start(problem_case);
  run->poison();
  run->enqueue();
  run->fence();
  std::vector<HostField> const fields = run->fetch();
  std::string found = "passes";
  for (std::size_t f = 0; f < fields.size(); ++f) {
    auto const count = elements_written(run->outputs(), fields[f].name, expected);
    if (!count) continue;
    Chain const chain(run->rounding_steps(), false, run->flushes_denormals(), run->reduced_precision());
    Verdict const verdict = verify(expected[f], fields[f], chain, *count);
    if (!verdict.passed) return "FAILED";
    double const terms = std::max(1.0, problem_case.terms());
    if (verdict.seen.unchecked > 0 || verdict.seen.sensitivity() > std::min(1.0, static_cast<double>(tile) / terms))
      found = "weak";
  }
  return found;
}

void expect_mistakes_are_seen(App const& app, DType dtype, std::size_t size) {
  // A maximum of many, or a sum of only four, does not depend on every element.
  bool const each_counts = app.info.name != "butterfly" && app.info.name != "lane_broadcast";
  ParameterMap const parameters = with_defaults(app, {});
  auto const problem_case = app.generate(dtype, size, 42, parameters);
  std::vector<ExpectedField> const expected = problem_case->reference();
  Spoilt input(*problem_case);
  for (Row const& row : app.rows) {
    if (row.dtype != dtype || !is_wanted(row) || row.space != app.rows.front().space) continue;
    std::string const what = name_of(app, row) + " of " + std::to_string(size);
    try {
      ASSERT_EQ(judged(row, *problem_case, expected), "passes") << what;
    } catch (Skip const&) {
      continue;
    }
    if (reads_nothing.contains(row.info.name)) continue;
    bool const order_matters = !sums.contains(app.info.name) && !sums.contains(row.info.name);
    auto const expect_failed = [&](std::string const& mistake) {
      input.changed();
      EXPECT_EQ(judged(row, *problem_case, expected), "FAILED") << what << ": " << mistake;
      input.restore();
    };
    std::size_t const late = input.size() / 10 * 9;
    if (each_counts) {
      input[input.counting(late)] = 0;
      expect_failed("an element is lost");
      std::size_t const at = input.counting(late + 1);
      input[at] = static_cast<std::uint16_t>(input[at] + (dtype == DType::float16 ? 1 << 10 : 1 << 7));
      expect_failed("an element is doubled");
    }
    for (std::size_t i = input.size() - std::min(input.size(), tile); i < input.size(); ++i) input[i] = 0;
    expect_failed("the last tile is lost");
    if (order_matters) {
      std::size_t const i = input.unlike_next(late);
      std::swap(input[i], input[i + 1]);
      expect_failed("two neighbours are swapped");
    }
  }
}

class ShortFloatRows : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ShortFloatRows, MistakesAreSeen) {
  App const app = all_apps().at(GetParam());
  for (DType const dtype : {DType::float16, DType::bfloat16}) {
    // embedding copies only the elements that its indices name; all others change nothing.
    if (!takes(app, dtype, with_defaults(app, {})) || app.info.name == "embedding") continue;
    for (std::size_t const size : {std::size_t{1} << 20, late_size()}) expect_mistakes_are_seen(app, dtype, size);
  }
}

INSTANTIATE_TEST_SUITE_P(App, ShortFloatRows, ::testing::Range(std::size_t{0}, all_apps().size()),
                         [](::testing::TestParamInfo<std::size_t> const& info) {
                           return std::string(all_apps().at(info.param).info.name);
                         });

}  // namespace
}  // namespace tessera::testing
