#pragma once
/// \file
/// Runs rows of any mini-app on chosen data, for the tests. Needs only the table of rows, no Kokkos.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera::testing {

/// Patterns of the elements of an input.
enum class Pattern { zeros, ones, alternating, huge_range, denormals, negative_zero, random, nan_inside, infinities };

inline constexpr Pattern finite_patterns[] = {Pattern::zeros,      Pattern::ones,      Pattern::alternating,
                                              Pattern::huge_range, Pattern::denormals, Pattern::negative_zero,
                                              Pattern::random};
inline constexpr Pattern special_patterns[] = {Pattern::nan_inside, Pattern::infinities};

[[nodiscard]] std::string name_of(Pattern pattern);

/// Fields of given shapes, filled with a pattern. Fields differ from each other if the pattern allows it. The field
/// `offsets` has offsets of segments of the field `in` or `keys`, the same for every pattern.
class PatternSource final : public FieldSource {
 public:
  /// Uses the shapes that belong to `size`.
  PatternSource(App const& app, Pattern pattern, std::size_t size, ParameterMap const& given);
  /// Uses `shapes` in the order of the app's input fields.
  PatternSource(App const& app, Pattern pattern, std::vector<Shape> const& shapes);
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override { return shapes_.at(spec.name); }
  void read(FieldSpec const& spec, void* destination) const override;
  /// The size that the shapes belong to; 0 if the shapes were given.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  Pattern pattern_;
  std::size_t size_ = 0;
  std::map<std::string, Shape> shapes_;
};

/// Fields defined by a test, by name.
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

/// Returns the mini-app with these variants in the place of its own. (make_app would compile its cases in every test.)
[[nodiscard]] App with_rows(App app, std::vector<VariantRows> const& variants);

/// Returns `given`, completed with the app's default parameters. A mini-app without input fields has `size` elements,
/// unless `given` says how many.
[[nodiscard]] ParameterMap with_defaults(App const& app, ParameterMap given, std::size_t size = 0);

/// Starts the row, runs it `runs` times on poisoned output and verifies every result. If the row claims to be
/// deterministic, all results must be bitwise equal. Returns an empty text, "skipped: why", or the error.
[[nodiscard]] std::string run_row(Row const& row, Case& problem_case, std::vector<ExpectedField> const& expected,
                                  int runs);

/// Returns true if run_row reported a wrong result or a write outside of it, and not another exception or a failed
/// launch.
[[nodiscard]] inline bool is_wrong_result(std::string const& outcome) {
  return outcome.starts_with("run ") || outcome.starts_with("wrote outside of ");
}

/// Runs the row once and judges its result as the driver does. Returns an empty text, "skipped: why", why the row is
/// weak, or the error. `flushes`: assumes that the row's atomics flush denormals, as some GPUs do.
[[nodiscard]] std::string verdict_of(Row const& row, Case& problem_case, std::vector<ExpectedField> const& expected,
                                     bool flushes);

/// Returns the name of a row, such as "prefix_sum/look_back/openmp/float".
[[nodiscard]] std::string name_of(App const& app, Row const& row);

/// Returns true if this build has the space's dtype.
[[nodiscard]] std::vector<DType> dtypes_of_this_build();

/// Returns what is wrong with TESSERA_TEST_SPACE or TESSERA_TEST_LEVEL, or nothing: no row has a space that this build
/// lacks, and no test would fail.
[[nodiscard]] std::string mistake_in_environment();

/// Returns "all N rows were skipped; the last one: why" if run_row and verdict_of ran no row since the last call
/// although they skipped some, or nothing.
[[nodiscard]] std::string all_were_skipped();

/// Returns false if TESSERA_TEST_SPACE or TESSERA_TEST_LEVEL is set to another space or level than the row's. Thus a
/// GPU test does not spend its time on the host.
[[nodiscard]] bool is_wanted(Row const& row);

/// Returns false if TESSERA_TEST_LARGEST is less than the size: for builds that are a hundred times slower.
[[nodiscard]] bool is_wanted(std::size_t size);

/// Returns the number of elements for late mistakes: TESSERA_TEST_LATE_SIZE, or 2^24.
[[nodiscard]] std::size_t late_size();

/// Returns how often a race test repeats its run: TESSERA_TEST_REPEATS, or the given number.
[[nodiscard]] int repeats(int otherwise);

}  // namespace tessera::testing
