// One row, from its Plan to its report.

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <tessera/app/driver.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera {

namespace {

// The reference as a field of its dtype. What the dtype cannot hold becomes infinity or an end of its range, which is
// unequal to any value of a file unless that is so, too.
template <class T>
std::shared_ptr<void const> rounded(std::vector<double> const& values) {
  auto const data = std::make_shared<std::vector<T>>();
  data->reserve(values.size());
  for (double const value : values) {
    if constexpr (std::numeric_limits<T>::is_integer) {
      using Limits = std::numeric_limits<T>;
      auto const low =
          static_cast<double>(Limits::min());  // a power of two: -low is the first number that is too large
      T held{};
      if (value <= low) held = Limits::min();
      if (value >= -low) held = Limits::max();
      if (value > low && value < -low) held = static_cast<T>(value);
      data->push_back(held);
    } else {
      data->push_back(static_cast<T>(value));
    }
  }
  return {data, data->data()};
}

HostField rounded(ExpectedField const& expected, DType dtype) {
  HostField field{expected.name, dtype, expected.shape, nullptr};
  switch (dtype) {
    case DType::float32: field.data = rounded<float>(expected.value); break;
    case DType::float64: field.data = rounded<double>(expected.value); break;
    case DType::int32: field.data = rounded<std::int32_t>(expected.value); break;
    case DType::int64: field.data = rounded<std::int64_t>(expected.value); break;
  }
  return field;
}

HostField const* find_field(std::vector<HostField> const& fields, std::string const& name) {
  for (HostField const& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// Compares what the row writes with the reference and the file. Notes the worst error; returns what is wrong, or
// nothing.
std::string find_fault(std::vector<HostField> const& result, Oracle const& oracle,
                       std::vector<WrittenField> const& written, RowReport& report) {
  if (result.size() != oracle.reference.size()) {
    return "the row has " + std::to_string(result.size()) + " output fields (the reference has " +
           std::to_string(oracle.reference.size()) + ") make them agree";
  }
  std::string fault;
  report.elements = 0;
  report.unchecked = 0;
  for (ExpectedField const& expected : oracle.reference) {
    std::optional<std::size_t> const count = elements_written(written, expected.name, oracle.reference);
    if (!count) continue;
    HostField const* const actual = find_field(result, expected.name);
    if (actual == nullptr) return "the row has no output field `" + expected.name + "` (the reference has it) add it";
    auto const note = [&](Verdict const& verdict, std::string const& against) {
      // Written so that a NaN counts as the worst of all.
      if (!(verdict.worst <= report.worst_error_in_bounds)) report.worst_error_in_bounds = verdict.worst;
      if (std::isnan(verdict.worst)) report.worst_error_in_bounds = std::numeric_limits<double>::infinity();
      if (!verdict.passed && fault.empty()) fault = verdict.message + against;
    };
    Verdict const verdict = verify(expected, *actual, report.rounding_steps, *count);
    report.elements += verdict.count;
    report.unchecked += verdict.unchecked;
    note(verdict, "");
    if (HostField const* const stored = find_field(oracle.from_file, expected.name)) {
      note(verify_against_file(*stored, expected, *actual, report.rounding_steps, *count),
           " [against the file's /expected]");
    }
  }
  return fault;
}

// What --output keeps of a row: the fields that it writes, cut to the elements that it writes.
std::vector<HostField> written_part(std::vector<HostField> const& fields, std::vector<WrittenField> const& written,
                                    Oracle const& oracle) {
  std::vector<HostField> result;
  for (HostField const& field : fields) {
    std::optional<std::size_t> const count = elements_written(written, field.name, oracle.reference);
    if (!count) continue;
    result.push_back(field);
    if (*count < field.count()) result.back().shape = {*count};
  }
  return result;
}

bool all_same_bits(std::vector<HostField> const& first, std::vector<HostField> const& last) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!same_bits(first[i], last[i])) return false;
  }
  return first.size() == last.size();
}

// Runs and judges; returns what is wrong, or nothing.
std::string judge(RowRun& run, Row const& row, Oracle const& oracle, SamplingOptions const& sampling, RowReport& report,
                  std::function<bool()> const& interrupted, TakeOutput const& take_output) {
  report.rounding_steps = run.rounding_steps();
  report.note = run.note();
  report.worst_error_in_bounds = 0;
  std::vector<WrittenField> const written = run.outputs();
  if (std::optional<Work> const work = run.work()) {
    report.bytes = work->bytes;
    report.flops = work->flops;
  }

  run.poison();
  run.fence();
  run.enqueue();
  run.fence();
  std::vector<HostField> const first = run.fetch();
  if (std::string const fault = find_fault(first, oracle, written, report); !fault.empty()) {
    return "first launch: " + fault;
  }

  // Poisoned again: a Plan that works only once must not live on what its first launch left.
  run.poison();
  run.fence();
  report.samples = sample(run, sampling, interrupted);
  if (report.samples.interrupted) return {};
  std::vector<HostField> last = run.fetch();
  if (std::string const fault = find_fault(last, oracle, written, report); !fault.empty()) {
    return "after " + std::to_string(report.samples.seconds.size()) + " samples: " + fault;
  }
  if (row.info.deterministic && !all_same_bits(first, last)) {
    return "the last launch gave other bits than the first (the variant is declared deterministic; both are within "
           "the bound) look for a race, or declare it `.deterministic = false`";
  }
  report.note = run.note();
  if (take_output) take_output(row, written_part(last, written, oracle));
  return {};
}

}  // namespace

std::optional<std::size_t> elements_written(std::vector<WrittenField> const& written, std::string const& field,
                                            std::vector<ExpectedField> const& reference) {
  if (written.empty()) return all_elements;
  auto const entry = std::ranges::find(written, field, &WrittenField::field);
  if (entry == written.end()) return std::nullopt;
  if (entry->count_field.empty()) return all_elements;
  auto const count = std::ranges::find(reference, entry->count_field, &ExpectedField::name);
  if (count == reference.end() || count->value.size() != 1) {
    throw std::runtime_error("the row counts the elements of `" + field + "` by `" + entry->count_field +
                             "` (the reference has no such field of one element) name another");
  }
  return static_cast<std::size_t>(count->value.front());
}

std::string disagreement(Oracle const& oracle) {
  // More than one step, since the file's numbers may come from a chain of roundings of their own (NumPy's sums); few
  // beside the error of a wrong element.
  double const steps = 64;
  for (ExpectedField const& expected : oracle.reference) {
    HostField const* const stored = find_field(oracle.from_file, expected.name);
    if (stored == nullptr) continue;
    Verdict const verdict = verify_against_file(*stored, expected, rounded(expected, stored->dtype), steps);
    if (!verdict.passed) {
      return "the reference and the file's /expected disagree (" + verdict.message +
             ") one of them is wrong, so that nothing can be verified: correct it first";
    }
  }
  return {};
}

std::optional<RowReport> run_row(Row const& row, Case& problem_case, Oracle const& oracle,
                                 SamplingOptions const& sampling, RowReport report,
                                 std::function<bool()> const& interrupted, TakeOutput const& take_output) {
  report.variant = row.info.name;
  report.space = row.space;
  report.dtype = row.dtype;
  report.level = row.info.level;
  report.deterministic = row.info.deterministic;
  report.cold = sampling.cold;
  report.status = Status::failed;
  try {
    std::unique_ptr<RowRun> const run = row.start(problem_case);
    report.reason = judge(*run, row, oracle, sampling, report, interrupted, take_output);
    if (report.samples.interrupted) return std::nullopt;
    if (report.reason.empty()) report.status = Status::passed;
  } catch (Skip const& skip) {
    report.status = Status::skipped;
    report.reason = skip.what();
  } catch (std::bad_alloc const&) {
    report.reason = "out of memory (an allocation failed) choose a smaller size";
  } catch (std::exception const& error) {
    report.reason = *error.what() != '\0' ? error.what() : "exception without a message";
  } catch (...) {
    report.reason = "exception of an unknown type";
  }
  if (report.status != Status::passed) report.samples = {};
  return report;
}

}  // namespace tessera
