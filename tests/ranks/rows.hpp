#pragma once
/// \file
/// Tests rows on several ranks: all ranks run them and receive the errors of all ranks.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../apps/harness.hpp"

#include <tessera/ranks/ranks.hpp>
#include <tessera/table/app.hpp>

namespace tessera::testing {

[[nodiscard]] inline ranks::Ranks const& world() { return ranks::world(); }

/// Returns " name value" for each parameter that is a number or a string.
[[nodiscard]] inline std::string said(ParameterMap const& given) {
  std::string text;
  for (auto const& [name, value] : given) {
    text += " " + name;
    if (auto const* const number = std::get_if<std::int64_t>(&value)) text += " " + std::to_string(*number);
    if (auto const* const word = std::get_if<std::string>(&value)) text += " " + *word;
  }
  return text;
}

/// Returns true if the dtype accepts these parameters: integers have no mean.
[[nodiscard]] inline bool suits(App const& app, DType dtype, std::size_t size, ParameterMap const& given) {
  try {
    (void)app.footprint_of_size(dtype, size, with_defaults(app, given));
  } catch (UserError const&) {
    return false;
  }
  return true;
}

/// Returns false for all dtypes but the first if TESSERA_TEST_FIRST_DTYPE is set: it suffices to test the others with
/// one number of ranks.
[[nodiscard]] inline bool is_wanted(DType dtype) {
  return std::getenv("TESSERA_TEST_FIRST_DTYPE") == nullptr || dtype == dtypes_of_this_build().front();
}

/// Returns the errors of the rows of level `ranks` on this input, on any rank; empty if there are none.
[[nodiscard]] inline std::string outcome_of(App const& app, std::size_t size, DataKind data, ParameterMap const& given,
                                            int launches = 2) {
  std::string outcome;
  for (Row const& row : app.rows) {
    bool const wanted = row.info.level == Level::ranks && is_wanted(row) && is_wanted(row.dtype);
    if (!wanted || !suits(app, row.dtype, size, given)) continue;
    auto const problem_case = app.generate_data(row.dtype, size, 42, data, with_defaults(app, given));
    std::vector<ExpectedField> const expected = problem_case->reference();
    // One launch first: a rank whose part is wrong stops, and the others would wait for it in a second launch.
    std::vector<std::string> all = world().all_gather(run_row(row, *problem_case, expected, 1));
    bool const right = std::ranges::all_of(all, &std::string::empty);
    if (right && launches > 1) all = world().all_gather(run_row(row, *problem_case, expected, launches));
    for (std::string const& of_rank : all) {
      if (of_rank.empty()) continue;
      outcome += name_of(app, row) + " of " + std::to_string(size) + said(given) + ": " + of_rank + "\n";
    }
  }
  return outcome;
}

inline constexpr std::size_t rank_sizes[] = {0, 1, 2, 3, 5, 6, 7, 8, 64, 1000, 10007, 70001};

/// What all ranks send.
struct Sent {
  double bytes;
  double messages;
};

/// Returns what the row's second launch sends. Must be called by all ranks.
[[nodiscard]] Sent sent_in_a_launch(Row const& row, Case& problem_case);

/// Returns the blocks of all ranks, one behind the other. Must be called by all ranks.
template <class T>
[[nodiscard]] std::vector<T> joined_blocks(HostField const& own) {
  std::string bytes(own.bytes(), ' ');
  if (!bytes.empty()) std::memcpy(bytes.data(), own.data.get(), bytes.size());
  std::string all;
  for (std::string const& of_rank : world().all_gather(bytes)) all += of_rank;
  std::vector<T> elements(all.size() / sizeof(T));
  if (!all.empty()) std::memcpy(elements.data(), all.data(), all.size());
  return elements;
}

/// The elements that ranks send to others, by their places in an array of n elements, in blocks.
class Moved {
 public:
  explicit Moved(std::size_t n) : n_(n) {}

  /// The element of rank `from` belongs to `place`.
  void add(std::size_t from, std::size_t place) {
    std::size_t const to = owner(place);
    if (to == from) return;
    ++elements_;
    pairs_.insert({from, to});
  }
  [[nodiscard]] std::size_t owner(std::size_t place) const {
    int rank = 0;
    while (ranks::block_of(n_, world().count(), rank).end <= place) ++rank;
    return static_cast<std::size_t>(rank);
  }
  [[nodiscard]] double elements() const { return static_cast<double>(elements_); }
  /// Returns the number of pairs of ranks of which one sends to the other.
  [[nodiscard]] double pairs() const { return static_cast<double>(pairs_.size()); }

 private:
  std::size_t n_;
  std::size_t elements_ = 0;
  std::set<std::pair<std::size_t, std::size_t>> pairs_;
};

/// Elements of the cases whose traffic is compared with the model.
inline constexpr std::size_t traffic_size = 10007;

/// Returns how that differs from what the model of a study counts for a launch of the row on `traffic_size` elements;
/// empty if it does not.
[[nodiscard]] std::string traffic_beside_model(App const& app, Row const& row, Sent const& sent,
                                               ParameterMap const& given);

/// Expects the row on ranks to send in a launch what the model of a study counts, with default parameters.
void expect_traffic_of_model(App const& app);

/// Tests every kind of data and every size from `smallest` on, with each of these parameters; then what is sent.
inline void expect_right_on_ranks(App const& app, std::vector<ParameterMap> const& parameters,
                                  std::size_t smallest = 0) {
  EXPECT_TRUE(app.distributed);
  for (ParameterMap const& given : parameters) {
    for (std::size_t const size : rank_sizes) {
      if (size < smallest) continue;
      for (DataKind const data : app.data) EXPECT_EQ(outcome_of(app, size, data, given), "");
    }
  }
  expect_traffic_of_model(app);
}

/// Tests a size that fills many tiles of each rank, and no whole number of them, once with each of these parameters.
inline void expect_right_on_ranks_at_a_million(App const& app, std::vector<ParameterMap> const& parameters = {{}}) {
  for (ParameterMap const& given : parameters) {
    EXPECT_EQ(outcome_of(app, (1 << 20) + 3, app.data.front(), given, 1), "");
  }
}

}  // namespace tessera::testing
