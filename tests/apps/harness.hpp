#pragma once
/// \file
/// Running rows of any mini-app on chosen data, for the tests: no Kokkos, only the table.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera::testing {

/// What the elements of an input look like.
enum class Pattern { zeros, ones, alternating, huge_range, denormals, negative_zero, random, nan_inside, infinities };

inline constexpr Pattern finite_patterns[] = {Pattern::zeros,      Pattern::ones,      Pattern::alternating,
                                              Pattern::huge_range, Pattern::denormals, Pattern::negative_zero,
                                              Pattern::random};
inline constexpr Pattern special_patterns[] = {Pattern::nan_inside, Pattern::infinities};

[[nodiscard]] std::string name_of(Pattern pattern);

/// Fields of given shapes, filled with a pattern. Fields differ from each other where the pattern allows.
class PatternSource final : public FieldSource {
 public:
  /// The shapes that a size stands for.
  PatternSource(App const& app, Pattern pattern, std::size_t size, ParameterMap const& given);
  /// Shapes in the order of the app's input fields.
  PatternSource(App const& app, Pattern pattern, std::vector<Shape> const& shapes);
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override { return shapes_.at(spec.name); }
  void read(FieldSpec const& spec, void* destination) const override;

 private:
  Pattern pattern_;
  std::map<std::string, Shape> shapes_;
};

/// Fields as a test gives them, by name.
class GivenFields final : public FieldSource {
 public:
  struct Field {
    Shape shape;
    std::vector<double> values;
  };
  explicit GivenFields(std::map<std::string, Field> fields) : fields_(std::move(fields)) {}
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override { return fields_.at(spec.name).shape; }
  void read(FieldSpec const& spec, void* destination) const override;

 private:
  std::map<std::string, Field> fields_;
};

/// A parameter map with the app's defaults where `given` says nothing.
[[nodiscard]] ParameterMap with_defaults(App const& app, ParameterMap given);

/// Starts the row, runs it `runs` times from poisoned output, verifies every result, and compares bits of the results
/// if the row says that it is deterministic. Returns an empty text, "skipped: why", or what is wrong.
[[nodiscard]] std::string run_row(Row const& row, Case& problem_case, std::vector<ExpectedField> const& expected,
                                  int runs);

/// Runs the row once, and judges its result as the driver does. Returns an empty text, "skipped: why", why the row is weak, or what is
/// wrong. `flushes`: as if the row's atomics flushed denormals, as some do on a GPU.
[[nodiscard]] std::string verdict_of(Row const& row, Case& problem_case, std::vector<ExpectedField> const& expected,
                                     bool flushes);

/// "prefix_sum/look_back/openmp/float"
[[nodiscard]] std::string name_of(App const& app, Row const& row);

/// True if the space's dtype is in this build.
[[nodiscard]] std::vector<DType> dtypes_of_this_build();

/// True unless TESSERA_TEST_SPACE names another space than the row's, so that a GPU's time is not spent on the host, or
/// TESSERA_TEST_LEVEL another level than its variant's.
[[nodiscard]] bool is_wanted(Row const& row);

/// True unless TESSERA_TEST_LARGEST is less than the size: for builds that are a hundred times slower.
[[nodiscard]] bool is_wanted(std::size_t size);

/// The number of elements of mistakes that come late: TESSERA_TEST_LATE_SIZE, or 2^24.
[[nodiscard]] std::size_t late_size();

/// How often the repeated runs run: TESSERA_TEST_REPEATS, or this.
[[nodiscard]] int repeats(int otherwise);

}  // namespace tessera::testing
