#include "harness.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

#include <tessera/cli/nearest.hpp>
#include <tessera/core/random.hpp>
#include <tessera/table/runtime.hpp>
#include <tessera/verify/sample.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera::testing {

namespace {

template <class T>
T element(Pattern pattern, std::uint64_t stream, std::size_t i, std::size_t size) {
  using Limits = std::numeric_limits<T>;
  std::uint64_t const bits = random_bits(7, stream, i);
  switch (pattern) {
    case Pattern::zeros: return T(0);
    case Pattern::ones: return T(1);
    case Pattern::alternating: return i % 2 == 0 ? T(1) : T(-1);
    case Pattern::negative_zero: return static_cast<T>(Floating<T> ? -0.0 : 0.0);
    case Pattern::huge_range:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<std::uint32_t>(bits));
      } else {
        // Magnitudes from 2^-50 to 2^50: neither a sum of 2^20 elements nor a sum of their products overflows in float.
        // Half covers its range from denormals to the largest number, and some results are infinite.
        using A = Arithmetic<T>;
        constexpr unsigned magnitudes = std::is_same_v<T, Half> ? 17 : 51;
        return random_value<T>(7, stream, i) * static_cast<A>(std::uint64_t{1} << (bits % magnitudes)) /
               static_cast<A>(std::uint64_t{1} << ((bits >> 8) % magnitudes));
      }
    case Pattern::denormals:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(bits % 3);
      } else {
        return Limits::denorm_min() * static_cast<Arithmetic<T>>(static_cast<int>(bits % 1001) - 500);
      }
    case Pattern::nan_inside:
      if (Floating<T> && i == size / 2) return Limits::quiet_NaN();
      return random_value<T>(7, stream, i);
    case Pattern::infinities:
      if (Floating<T> && (i == size / 3 || i == size / 2)) {
        return i == size / 2 ? -Limits::infinity() : Limits::infinity();
      }
      return random_value<T>(7, stream, i);
    case Pattern::random: break;
  }
  return random_value<T>(7, stream, i);
}

template <class T>
void fill(Pattern pattern, std::uint64_t stream, std::size_t size, void* destination) {
  T* const data = static_cast<T*>(destination);
  for (std::size_t i = 0; i < size; ++i) data[i] = element<T>(pattern, stream, i, size);
}

// Offsets of segments of `elements` elements, which must not fall. A sixth of the segments is empty, and the next one
// is as long as all of them would be.
void fill_offsets(std::uint64_t stream, std::size_t size, std::size_t elements, std::int64_t* offsets) {
  auto const n = static_cast<double>(elements);
  for (std::size_t i = 0; i < size; ++i) {
    double const uniform = static_cast<double>(random_bits(7, stream, i) >> 11) * 0x1p-53;
    offsets[i] = static_cast<std::int64_t>(n * uniform);
  }
  std::sort(offsets, offsets + size);
  if (size > 0) offsets[0] = 0;
  if (size > 1) offsets[size - 1] = static_cast<std::int64_t>(elements);
  for (std::size_t i = size / 3; i < size / 2; ++i) offsets[i] = offsets[size / 3];
}

// What run_row and verdict_of did since the last call of all_were_skipped().
struct Outcomes {
  int run = 0;
  int skipped = 0;
  std::string why = {};  // of the last one that was skipped
};
Outcomes outcomes;

std::string skipped(Skip const& skip) {
  ++outcomes.skipped;
  outcomes.why = skip.what();
  return "skipped: " + outcomes.why;
}

// The driver's verdict on field `f` of a result. A field that is right as a whole must also be right in the sample that
// --verify sample takes.
Verdict judged(ExpectedField const& expected, std::vector<HostField> const& result, std::size_t f, Chain const& chain,
               std::vector<WrittenField> const& written, std::size_t count) {
  if (has_own_values(written, expected.name)) return verify_own_values(expected, result[f]);
  auto const verdict_on = [&](ExpectedField const& field, std::vector<HostField> const& values, std::size_t elements) {
    return verify(field.of_result ? field.of_result(values) : field, values[f], chain, elements);
  };
  Verdict whole = verdict_on(expected, result, count);
  if (!whole.passed || count != count_of(expected.shape)) return whole;
  auto const choose = [](std::size_t elements) { return sample_of(elements, 20, 7); };
  std::vector<HostField> gathered;
  for (HostField const& field : result) gathered.push_back(gather(field, choose(field.count())));
  Verdict const sample = verdict_on(gather(expected, choose(count)), gathered, count_of(choose(count)));
  if (!sample.passed) {
    whole.passed = false;
    whole.message = sample.message + " [in a sample]";
  }
  return whole;
}

}  // namespace

std::string name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::zeros: return "zeros";
    case Pattern::ones: return "ones";
    case Pattern::alternating: return "alternating";
    case Pattern::huge_range: return "huge_range";
    case Pattern::denormals: return "denormals";
    case Pattern::negative_zero: return "negative_zero";
    case Pattern::random: return "random";
    case Pattern::nan_inside: return "nan_inside";
    case Pattern::infinities: return "infinities";
  }
  return "unknown";
}

PatternSource::PatternSource(App const& app, Pattern pattern, std::size_t size, ParameterMap const& given)
    : PatternSource(app, pattern, app.input_shapes(size, with_defaults(app, given))) {
  size_ = size;
}

PatternSource::PatternSource(App const& app, Pattern pattern, std::vector<Shape> const& shapes) : pattern_(pattern) {
  std::vector<FieldSpec> const fields = app.input_fields(app.rows.at(0).dtype);
  for (std::size_t i = 0; i < fields.size(); ++i) shapes_[fields[i].name] = shapes.at(i);
}

void PatternSource::read(FieldSpec const& spec, void* destination) const {
  // The field's name selects its random stream, so that a and b of one input differ.
  std::uint64_t const stream = spec.name.empty() ? 0 : static_cast<std::uint64_t>(spec.name[0]);
  std::size_t const size = count_of(shapes_.at(spec.name));
  switch (spec.dtype) {
    case DType::float32: return fill<float>(pattern_, stream, size, destination);
    case DType::float64: return fill<double>(pattern_, stream, size, destination);
    case DType::int32: return fill<std::int32_t>(pattern_, stream, size, destination);
    case DType::int64: {
      auto* const to = static_cast<std::int64_t*>(destination);
      if (spec.name == "offsets") {
        return fill_offsets(stream, size, count_of(shapes_.at(shapes_.contains("in") ? "in" : "keys")), to);
      }
      return fill<std::int64_t>(pattern_, stream, size, to);
    }
    case DType::float16: return fill<Half>(pattern_, stream, size, destination);
    case DType::bfloat16: return fill<BFloat16>(pattern_, stream, size, destination);
    case DType::uint32: return fill<std::uint32_t>(pattern_, stream, size, destination);
    case DType::uint64: return fill<std::uint64_t>(pattern_, stream, size, destination);
  }
}

void GivenFields::read(FieldSpec const& spec, void* destination) const {
  auto const fill = [&]<class T>(T* to) {
    for (double const value : fields_.at(spec.name).values) *to++ = static_cast<T>(value);
  };
  switch (spec.dtype) {
    case DType::float32: return fill(static_cast<float*>(destination));
    case DType::float64: return fill(static_cast<double*>(destination));
    case DType::int32: return fill(static_cast<std::int32_t*>(destination));
    case DType::int64: return fill(static_cast<std::int64_t*>(destination));
    case DType::float16: return fill(static_cast<Half*>(destination));
    case DType::bfloat16: return fill(static_cast<BFloat16*>(destination));
    case DType::uint32: return fill(static_cast<std::uint32_t*>(destination));
    case DType::uint64: return fill(static_cast<std::uint64_t*>(destination));
  }
}

App with_rows(App app, std::vector<VariantRows> const& variants) {
  app.variants.clear();
  app.rows.clear();
  for (VariantRows const& variant : variants) {
    app.variants.push_back(variant.info);
    app.rows.insert(app.rows.end(), variant.rows.begin(), variant.rows.end());
  }
  return app;
}

ParameterMap with_defaults(App const& app, ParameterMap given, std::size_t size) {
  for (ParameterSpec const& spec : app.parameters) {
    if (spec.given_by == GivenBy::size) given.try_emplace(spec.name, static_cast<std::int64_t>(size));
  }
  for (ParameterSpec const& spec : app.parameters) given.try_emplace(spec.name, spec.default_value);
  return given;
}

std::string run_row(Row const& row, Case& problem_case, std::vector<ExpectedField> const& expected, int runs) {
  try {
    std::unique_ptr<RowRun> const run = row.start(problem_case);
    // Assume data that are not random, because a Plan may depend on its input.
    Chain const chain(run->rounding_steps(), false, run->flushes_denormals(), run->reduced_precision());
    std::vector<HostField> first;
    for (int i = 0; i < runs; ++i) {
      run->poison();
      run->enqueue();
      run->fence();
      std::vector<HostField> const fields = run->fetch();
      if (i == 0) ++outcomes.run;
      if (fields.size() != expected.size()) return "another number of fields";
      std::vector<WrittenField> const written = run->outputs();
      for (std::size_t f = 0; f < fields.size(); ++f) {
        std::optional<std::size_t> const count = elements_written(written, fields[f].name, expected);
        if (!count) continue;
        Verdict const verdict = judged(expected[f], fields, f, chain, written, *count);
        if (!verdict.passed) return "run " + std::to_string(i) + ": " + verdict.message;
        if (i > 0 && row.info.deterministic && !same_bits(first[f], fields[f])) {
          return "run " + std::to_string(i) + ": other bits than the first run, yet said to be deterministic";
        }
      }
      if (i == 0) first = fields;
      if (i == 0 && runs > 1) run->renew();
    }
  } catch (Skip const& skip) {
    return skipped(skip);
  } catch (std::exception const& error) {
    return error.what();
  }
  return {};
}

std::string verdict_of(Row const& row, Case& problem_case, std::vector<ExpectedField> const& expected, bool flushes) {
  try {
    std::unique_ptr<RowRun> const run = row.start(problem_case);
    Chain const chain(run->rounding_steps(), false, flushes || run->flushes_denormals(), run->reduced_precision());
    run->poison();
    run->enqueue();
    run->fence();
    std::vector<HostField> const fields = run->fetch();
    ++outcomes.run;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      std::vector<WrittenField> const written = run->outputs();
      std::optional<std::size_t> const count = elements_written(written, fields[f].name, expected);
      if (!count) continue;
      Verdict const verdict = judged(expected[f], fields, f, chain, written, *count);
      if (!verdict.passed) return verdict.message;
      std::string const weak = weakness_of(verdict.seen, expected[f], problem_case.terms());
      if (!weak.empty()) return weak;
    }
  } catch (Skip const& skip) {
    return skipped(skip);
  }
  return {};
}

std::string all_were_skipped() {
  Outcomes const last = std::exchange(outcomes, {});
  if (last.run > 0 || last.skipped == 0) return {};
  return "all " + std::to_string(last.skipped) + " rows were skipped; the last one: " + last.why;
}

std::string name_of(App const& app, Row const& row) {
  return std::string(app.info.name) + "/" + std::string(row.info.name) + "/" + row.space + "/" +
         std::string(name_of(row.dtype));
}

std::vector<DType> dtypes_of_this_build() {
  std::vector<std::string> const names = enabled_dtypes();
  std::vector<DType> dtypes;
  for (DType const dtype : run_dtypes) {
    // int32 stands for all integers of mini-apps that have more.
    auto const name = tessera::name_of(is_more_integer(dtype) ? DType::int32 : dtype);
    if (std::find(names.begin(), names.end(), name) != names.end()) dtypes.push_back(dtype);
  }
  return dtypes;
}

std::string mistake_in_environment() {
  char const* const space = std::getenv("TESSERA_TEST_SPACE");
  char const* const level = std::getenv("TESSERA_TEST_LEVEL");
  std::vector<std::string> const spaces = enabled_spaces();
  if (space != nullptr && std::ranges::find(spaces, space) == spaces.end()) {
    return "TESSERA_TEST_SPACE=" + std::string(space) + " names no space of this build; use one of " +
           join(spaces, ", ");
  }
  auto const has_name = [&](Level known) { return tessera::name_of(known) == level; };
  if (level != nullptr && std::ranges::none_of(all_levels, has_name)) {
    return "TESSERA_TEST_LEVEL=" + std::string(level) + " names no level; see --list";
  }
  return {};
}

bool is_wanted(Row const& row) {
  char const* const space = std::getenv("TESSERA_TEST_SPACE");
  char const* const level = std::getenv("TESSERA_TEST_LEVEL");
  return (space == nullptr || row.space == space) && (level == nullptr || tessera::name_of(row.info.level) == level);
}

bool is_wanted(std::size_t size) {
  char const* const text = std::getenv("TESSERA_TEST_LARGEST");
  return text == nullptr || size <= std::stoull(text);
}

std::size_t late_size() {
  char const* const text = std::getenv("TESSERA_TEST_LATE_SIZE");
  return text != nullptr ? std::stoull(text) : std::size_t{1} << 24;
}

int repeats(int otherwise) {
  char const* const text = std::getenv("TESSERA_TEST_REPEATS");
  return text != nullptr ? std::max(1, std::atoi(text)) : otherwise;
}

}  // namespace tessera::testing
