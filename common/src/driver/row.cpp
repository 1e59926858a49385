// One row, from its Plan to its report.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include <tessera/cli/nearest.hpp>
#include <tessera/core/checksum.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/core/with_dtype.hpp>
#include <tessera/driver/driver.hpp>
#include <tessera/driver/pieces.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/ranks/transport.hpp>
#include <tessera/table/runtime.hpp>
#include <tessera/verify/compact.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera {

namespace {

// Returns a value of the reference in its dtype. A value that the dtype cannot represent becomes infinity, or the end
// of an integer's range. It then differs from the file's value, unless the file has the same.
template <class T>
T rounded(double value) {
  if constexpr (std::numeric_limits<T>::is_integer) {
    using Limits = std::numeric_limits<T>;
    auto const low = static_cast<double>(Limits::min());
    double const past = std::ldexp(1.0, Limits::digits);  // the first number that is too large
    if (value <= low) return Limits::min();
    if (value >= past) return Limits::max();
    return value > low && value < past ? static_cast<T>(value) : T{};
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
std::shared_ptr<void const> rounded(ExpectedField const& expected) {
  auto const data = std::make_shared<std::vector<T>>(count_of(expected.shape));
  for_blocks(data->size(), part_elements(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      (*data)[i] = rounded<T>(value_at(expected, i));
    }
  });
  return {data, data->data()};
}

HostField rounded(ExpectedField const& expected, DType dtype) {
  if (expected.moved.data != nullptr) return expected.moved;
  return {expected.name, dtype, expected.shape, with_dtype(dtype, [&]<class T>() { return rounded<T>(expected); })};
}

HostField const* find_field(std::vector<HostField> const& fields, std::string const& name) {
  for (HostField const& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// Returns what a user can do about a weak row. A file determines its dtype and size, and a build may lack double.
std::string advice(Coverage const& seen, Oracle const& oracle, DType dtype) {
  std::string const smaller = seen.unchecked > 0 ? "smaller elements"
                              : oracle.is_file   ? "a smaller case"
                                                 : "a smaller size";
  std::string wider;
  if (dtype != DType::float64) {
    std::vector<std::string> here = enabled_dtypes();
    bool const has_double = std::ranges::find(here, name_of(DType::float64)) != here.end();
    here.emplace_back(name_of(DType::float64));
    wider = oracle.is_file ? "the case in double" : has_double ? "--dtype double" : "double";
    if (!has_double) wider += " (in a build with -D TESSERA_DTYPES=\"" + join(here, ";") + "\")";
    wider += " or ";
  }
  return std::string("; try ") + (seen.unchecked == 0 && oracle.other_is_exact ? "--data exact, " : "") + wider +
         smaller;
}

// Compares what the row writes with the reference and the file. Records the worst error and the coverage of each field
// that the row writes. Returns the fault, or nothing.
std::string find_fault(std::vector<HostField> const& result, Oracle const& oracle,
                       std::vector<WrittenField> const& written, Chain const& chain, RowReport& report,
                       std::vector<Coverage>& seen) {
  if (result.size() != oracle.reference.size()) {
    return concat("the row has ", result.size(), " output fields (the reference has ", oracle.reference.size(),
                  "); make them agree");
  }
  std::string fault;
  seen.clear();
  for (ExpectedField const& expected : oracle.reference) {
    std::optional<std::size_t> const count = elements_written(written, expected.name, oracle.reference);
    if (!count) continue;
    HostField const* const actual = find_field(result, expected.name);
    if (actual == nullptr) return "the row has no output field `" + expected.name + "` (the reference has it); add it";
    auto const note = [&](Verdict const& verdict, std::string const& against) {
      // A NaN counts as the worst error.
      if (!(verdict.worst <= report.worst_error_in_bounds)) report.worst_error_in_bounds = verdict.worst;
      if (std::isnan(verdict.worst)) report.worst_error_in_bounds = std::numeric_limits<double>::infinity();
      if (!verdict.passed && fault.empty()) fault = verdict.message + against;
    };
    bool const own = has_own_values(written, expected.name);
    Verdict const verdict = own                  ? verify_own_values(expected, *actual)
                            : expected.of_result ? verify(expected.of_result(result), *actual, chain, *count)
                                                 : verify(expected, *actual, chain, *count);
    seen.push_back(verdict.seen);
    note(verdict, "");
    if (own) continue;  // a file does not know these values either
    if (HostField const* const stored = find_field(oracle.from_file, expected.name)) {
      note(verify_against_file(*stored, expected, *actual, chain, *count), " [against the file's /expected]");
    }
  }
  return fault;
}

// Writes the coverage of the fields that the row writes to the report. If nothing was compared, there is no error to
// report.
void note_coverage(std::vector<Coverage> const& seen, RowReport& report) {
  report.elements = 0;
  report.unchecked = 0;
  report.checked_relative_error = 0;
  report.false_alarms = 0;
  for (Coverage const& field : seen) {
    report.elements += field.count;
    report.unchecked += field.unchecked;
    report.checked_relative_error = std::max(report.checked_relative_error, field.sensitivity());
    report.false_alarms = std::max(report.false_alarms, field.false_alarms);
  }
  if (report.false_alarms > 0 || (report.unchecked > 0 && report.unchecked == report.elements)) {
    report.checked_relative_error = report.worst_error_in_bounds = unknown;
  }
}

// Returns the coverage of all ranks' parts together: one rank's part may contain only zeros.
std::vector<Coverage> of_all_ranks(ranks::Ranks const& ranks, std::vector<Coverage> const& seen) {
  if (ranks.count() == 1) return seen;
  std::vector<Coverage> all(seen.size());
  for (std::vector<Coverage> const& of_rank : ranks.all_gather(seen)) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].merge(of_rank[i]);
  }
  return all;
}

// Returns why a lost tile might not be detected in a field that the row writes, and what to do; or nothing.
std::string weakness_of_row(std::vector<Coverage> const& seen, Oracle const& oracle,
                            std::vector<WrittenField> const& written, double terms, DType dtype) {
  auto field = seen.begin();
  std::vector<ExpectedField> const& reference = oracle.sample.empty() ? oracle.reference : oracle.sample;
  for (ExpectedField const& expected : reference) {
    if (!elements_written(written, expected.name, reference)) continue;
    Coverage const& of_field = *field++;
    if (std::string const why = weakness_of(of_field, expected, terms); !why.empty()) {
      return why + advice(of_field, oracle, dtype);
    }
  }
  return {};
}

// Returns the part of a row for --output: the fields that it writes, reduced to the elements that it writes.
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

// Returns a checksum of all bits of the fields that have data.
std::uint64_t checksum(std::vector<HostField> const& fields) {
  Checksum all;
  for (HostField const& field : fields) {
    std::uint64_t const of_field = field.data ? checksum_of_array(field.data.get(), field.bytes()) : 0;
    all.add(&of_field, sizeof of_field);
  }
  return all.value();
}

// Returns the same text on all ranks: the text of the first rank that has one, with the rank's number.
std::string agreed(ranks::Ranks const& ranks, std::string const& text) {
  if (ranks.count() == 1) return text;
  std::vector<std::string> const all = ranks.all_gather(text);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (!all[r].empty()) return concat("rank ", r, ": ", all[r]);
  }
  return {};
}

OverRanks over_ranks(ranks::Ranks const& ranks, double own) {
  Statistics const all = statistics(ranks.all_gather(own));
  return {all.min, all.median, all.max};
}

// Returns the summary of all ranks' samples.
RanksReport over_ranks(ranks::Ranks const& ranks, Samples const& samples, std::string const& space) {
  RanksReport report;
  report.count = ranks.count();
  if (ranks.count() == 1) return report;
  report.transport = name_of(ranks::transport(!is_host_space(space)));
  report.seconds = over_ranks(ranks, samples.own_seconds);
  report.communication = over_ranks(ranks, samples.of_launch.seconds);
  double const computing = samples.own_seconds - samples.of_launch.seconds;
  report.imbalance = ranks.max(computing) * ranks.count() / ranks.sum(computing);
  report.bytes = ranks.sum(static_cast<double>(samples.of_launch.bytes));
  report.messages = ranks.sum(static_cast<double>(samples.of_launch.messages));
  return report;
}

// True if a field passes if all of its pieces do: nothing judges it as a whole. Parts of its reference need no copy.
// Moved zeros of both signs may be in another piece than the reference's: such a piece fails.
bool has_pieces(ExpectedField const& expected) {
  bool const has_bounds =
      std::ranges::any_of(expected_bounds, [&](auto const bound) { return !(expected.*bound).empty(); });
  bool const is_large = expected.narrow != nullptr || expected.compact != nullptr || expected.moved.data != nullptr;
  return is_large && !has_bounds && !expected.statistic && !expected.of_result;
}

ExpectedField piece_of(ExpectedField const& expected, Stretch const& piece) {
  ExpectedField part = gather(expected, {});  // what holds for all elements, and none of them
  part.shape = {piece.end - piece.begin};
  if (expected.narrow != nullptr) {
    part.narrow = std::shared_ptr<float const[]>(expected.narrow, expected.narrow.get() + piece.begin);
  }
  if (expected.compact != nullptr) {
    part.compact = std::shared_ptr<CompactElement const[]>(expected.compact, expected.compact.get() + piece.begin);
  }
  if (expected.moved.data != nullptr) {
    auto const* const bytes = static_cast<unsigned char const*>(expected.moved.data.get());
    part.moved = {expected.name,
                  expected.moved.dtype,
                  part.shape,
                  {expected.moved.data, bytes + piece.begin * size_of(expected.moved.dtype)}};
    part.has_all_zeros = expected.has_all_zeros;
  }
  return part;
}

// The fields that were checked after a launch, and their fault.
struct Checked {
  std::vector<HostField> fields;
  std::string fault;
};

// Checks the results of a launch: all elements, or a sample with --verify sample. A row that writes only a part of a
// field is checked completely, because the rest must be untouched; so are values of its own.
Checked check_launch(RowRun& run, Case const& problem_case, Oracle const& oracle,
                     std::vector<WrittenField> const& written, Chain const& chain, RowReport& report,
                     std::vector<Coverage>& seen) {
  Checked checked;
  bool const counts =
      std::ranges::any_of(written, [](WrittenField const& one) { return !one.count_field.empty() || one.own_values; });
  if (oracle.verify.kind == VerifyOptions::Kind::sample && !counts) {
    auto const choose = [&](std::size_t count) { return sample_of(count, oracle.verify.elements, oracle.verify.seed); };
    Oracle sample;
    sample.reference = oracle.sample;
    for (ExpectedField const& field : oracle.reference) {
      sample.reference.push_back(gather(field, choose(count_of(field.shape))));
    }
    for (HostField const& field : oracle.from_file) sample.from_file.push_back(gather(field, choose(field.count())));
    checked.fields = run.fetch_sample(choose);
    checked.fault = find_fault(checked.fields, sample, written, chain, report, seen);
    if (checked.fault.empty()) return checked;
    // Check all elements, to report how many are wrong and where.
    std::string const in_sample = checked.fault;
    checked.fields = run.results();
    Oracle whole;
    if (!oracle.sample.empty()) {
      whole = oracle;
      whole.reference = problem_case.reference_by_parts();
    }
    checked.fault = find_fault(checked.fields, oracle.sample.empty() ? oracle : whole, written, chain, report, seen);
    if (checked.fault.empty()) checked.fault = in_sample + " [in a sample]";
    return checked;
  }
  checked.fields = run.results();
  checked.fault = find_fault(checked.fields, oracle, written, chain, report, seen);
  return checked;
}

// The same as check_launch() for a result that is right, piece by piece. Returns false if it is wrong, or if its fields
// have no pieces: then nothing is reported, and the result must be checked as a whole.
bool passes_in_pieces(RowRun& run, Case const& problem_case, Oracle const& oracle,
                      std::vector<WrittenField> const& written, Chain const& chain, RowReport& report,
                      std::vector<Coverage>& seen) {
  bool const is_whole =
      oracle.from_file.empty() && oracle.sample.empty() &&
      std::ranges::all_of(written, [](WrittenField const& one) { return one.count_field.empty() && !one.own_values; });
  std::vector<HostField> const outputs = problem_case.output_shapes();
  if (!is_whole || outputs.size() != oracle.reference.size()) return false;
  auto const of_row = [&](ExpectedField const& field) {
    return elements_written(written, field.name, oracle.reference).has_value();
  };
  auto const elements_of_piece = [&](ExpectedField const& expected) {
    return std::max<std::size_t>(1, piece_bytes() / size_of(find_field(outputs, expected.name)->dtype));
  };
  bool is_large = false;
  for (ExpectedField const& expected : oracle.reference) {
    if (!of_row(expected)) continue;
    HostField const* const output = find_field(outputs, expected.name);
    if (!has_pieces(expected) || output == nullptr) return false;
    // Pieces are compared as arrays of one dimension, so the shapes are compared here. A rank of several has a part of
    // the output, and no shape of it to compare with.
    if (ranks::world().count() == 1 && output->shape != expected.shape) return false;
    is_large = is_large || count_of(expected.shape) > elements_of_piece(expected);
  }
  if (!is_large) return false;

  double worst = 0;
  std::vector<Coverage> all;
  for (ExpectedField const& expected : oracle.reference) {
    if (!of_row(expected)) continue;
    std::size_t const count = count_of(expected.shape);
    std::size_t const at_once = elements_of_piece(expected);
    if (count == 0) return false;  // no piece would show a field that is not empty
    Coverage& of_field = all.emplace_back();
    of_field.blind = count > 0;
    for (std::size_t begin = 0; begin < count; begin += at_once) {
      Stretch const piece{begin, std::min(count, begin + at_once)};
      // Asked for one field after the other, in the order of the outputs.
      std::size_t next = 0;
      bool has_size = true;
      std::vector<HostField> const fields = run.fetch_sample([&](std::size_t of_row_field) {
        if (outputs.at(next++).name != expected.name) return std::vector<Stretch>();
        has_size = of_row_field == count;
        return has_size ? std::vector<Stretch>{piece} : std::vector<Stretch>();
      });
      HostField const* const actual = find_field(fields, expected.name);
      if (actual == nullptr || !has_size) return false;
      Verdict const verdict = verify(piece_of(expected, piece), *actual, chain);
      if (!verdict.passed) return false;
      worst = std::max(worst, verdict.worst);
      bool const blind = of_field.blind && verdict.seen.blind;
      of_field.merge(verdict.seen);
      of_field.blind = blind;
    }
  }
  report.worst_error_in_bounds = std::max(report.worst_error_in_bounds, worst);
  seen = std::move(all);
  return true;
}

// True if every element has only one correct value (+0 and -0 aside), and the check of this row would have detected any
// other value. The verdict then does not depend on which row computed it.
bool one_right_result(Oracle const& oracle, std::vector<Coverage> const& seen) {
  return oracle.from_file.empty() &&
         std::ranges::all_of(oracle.reference,
                             [](ExpectedField const& field) {
                               return field.compact == nullptr && field.scale.empty() && field.offset.empty() &&
                                      field.bfloat16_scale.empty() && field.bfloat16_offset.empty();
                             }) &&
         std::ranges::all_of(seen,
                             [](Coverage const& field) { return field.largest_bound == 0 && field.false_alarms == 0; });
}

// Runs and judges a row, on all ranks together. Returns the fault, or nothing.
//
// On a GPU, results that were compared once stay in the space's memory. If a later launch, or another row, has the same
// bits, its results are not fetched and compared again, because that takes a hundred times longer than a launch. On a
// host, or without memory for that, results are compared where they are, and only a checksum of the first is kept.
std::string judge(RowRun& run, Row const& row, Case const& problem_case, Oracle const& oracle,
                  SamplingOptions const& sampling, RowReport& report, std::function<bool()> const& interrupted,
                  TakeOutput const& take_output, std::string& weakness, Verified& verified) {
  ranks::Ranks const& ranks = ranks::world();
  report.rounding_steps = run.rounding_steps();
  Chain const chain(report.rounding_steps, oracle.random_data, run.flushes_denormals(), run.reduced_precision());
  report.note = run.note();
  report.worst_error_in_bounds = 0;
  std::vector<WrittenField> const written = run.outputs();
  if (std::optional<Work> const work = run.work()) {
    report.bytes = work->bytes;
    report.flops = work->flops;
  }
  report.prediction = run.prediction();

  // Profilers show the timed launches under the row's name, and one launch before them.
  std::string const region = report.app + "/" + report.variant;
  run.poison();
  run.fence();
  double const begin = steady_seconds();
  {
    Region const launch(region);
    report.kernels = kernels_of([&] { run.enqueue(); });
    run.fence();
  }
  double const first_launch = steady_seconds() - begin;
  bool const only_first = oracle.verify.kind == VerifyOptions::Kind::first;
  bool const sampled = oracle.verify.kind == VerifyOptions::Kind::sample;
  bool const known = verified.space == row.space && verified.written == written && !take_output && run.same_as_kept();
  bool kept = known;
  if (!known && !sampled) {
    verified = {};
    kept = run.keep();
  }
  std::vector<Coverage> seen;
  auto const check = [&] {
    // Without a copy that is kept, a checksum needs the whole result.
    bool const passes = kept && !take_output && !is_host_space(row.space) &&
                        passes_in_pieces(run, problem_case, oracle, written, chain, report, seen);
    return passes ? Checked() : check_launch(run, problem_case, oracle, written, chain, report, seen);
  };
  Checked first;
  if (known) {
    seen = verified.seen;
  } else {
    first = check();
  }
  note_coverage(seen, report);
  if (std::string const fault = agreed(ranks, first.fault); !fault.empty()) return "first launch: " + fault;
  if (only_first && take_output) take_output(row, written_part(first.fields, written, oracle));
  if (!known && kept && one_right_result(oracle, seen)) verified = {row.space, written, seen};
  bool const wants_same_bits = row.info.deterministic && !only_first;
  std::uint64_t const first_bits = wants_same_bits && !kept ? checksum(first.fields) : 0;
  first.fields.clear();  // the next launch may overwrite them

  // Launches on other input in between, so that anything that a Plan keeps from its construction or first launch is
  // wrong later. Poisons the output again, so that a row that works only once cannot pass with the results of its first
  // launch.
  if (!only_first) {
    Region const other_input("renewed");
    run.renew();
  }
  run.poison();
  run.fence();
  {
    Region const samples(region);
    report.samples = sample(run, sampling, interrupted, steady_seconds, ranks, first_launch);
  }
  if (report.samples.interrupted) return {};
  if (sampling.energy != nullptr) {
    // Before the last launch is checked: it then is one of these.
    Region const energy("energy");
    try {
      Energy const measured = measure_energy(run, *sampling.energy, report.seconds(), [&] {
        report.samples.interrupted = interrupted && interrupted();
        return report.samples.interrupted;
      });
      if (report.samples.interrupted) return {};
      report.energy = measured;
    } catch (EnergyError const& error) {  // the row itself may be right
      run.fence();                        // launches may be in flight
      report.no_energy = error.what();
    }
  }
  report.ranks = over_ranks(ranks, report.samples, row.space);
  report.note = run.note();
  if (!only_first) {
    bool const same = kept && run.same_as_kept();
    Checked const last = same ? Checked() : check();
    note_coverage(seen, report);
    if (std::string const fault = agreed(ranks, last.fault); !fault.empty()) {
      return concat("after ", report.samples.seconds.size(), " samples: ", fault);
    }
    bool const differs = wants_same_bits && !same && (kept || checksum(last.fields) != first_bits);
    if (ranks.any(differs)) {
      return "the last launch gave other bits than the first (the variant is declared deterministic; both are within "
             "the bound); look for a race, or declare it `.deterministic = false`";
    }
    if (take_output) {
      take_output(row, written_part(sampled || same ? run.results() : last.fields, written, oracle));
    }
  }
  std::vector<Coverage> const all = of_all_ranks(ranks, seen);
  report.worst_error_in_bounds = ranks.max(std::isnan(report.worst_error_in_bounds) ? 0 : report.worst_error_in_bounds);
  note_coverage(all, report);
  weakness = weakness_of_row(all, oracle, written, problem_case.terms(), report.dtype);
  return {};
}

// A row whose own arrays do not fit beside the case.
class NoMemory : public Skip {
 public:
  using Skip::Skip;
};

// Constructs the row on all ranks or on none. Throws the first exception if a rank failed; otherwise throws Skip if a
// rank threw Skip or had no memory. Plans do not communicate before they are enqueued.
std::unique_ptr<RowRun> start(Row const& row, Case& problem_case) {
  std::unique_ptr<RowRun> run;
  std::string skipped;
  bool no_memory = false;
  auto const lacks_memory = [&](std::string const& what) {
    no_memory = true;
    skipped = "not enough memory beside the case (" + what + "); choose a smaller one, or allow more (ulimit -v)";
  };
  ranks::together(ranks::world(), [&] {
    try {
      run = row.start(problem_case);
    } catch (Skip const& skip) {
      skipped = skip.what();
    } catch (std::bad_alloc const&) {
      lacks_memory("an allocation failed");
    } catch (std::runtime_error const& error) {
      // Only Kokkos 5.2 has a type for it.
      std::string const text = error.what();
      if (text.find("memory space failed to allocate") == std::string::npos) throw;
      lacks_memory(text.substr(0, text.find_last_not_of(".\n") + 1));
    }
  });
  if (ranks::world().any(!run)) {
    std::vector<std::string> const all = ranks::world().all_gather(skipped);
    auto const said = std::ranges::find_if(all, [](std::string const& text) { return !text.empty(); });
    std::string const reason = said != all.end() ? *said : std::string("without a reason");
    if (ranks::world().any(no_memory)) throw NoMemory(reason);
    throw Skip(reason);
  }
  return run;
}

}  // namespace

std::size_t& piece_bytes() {
  static std::size_t bytes = std::size_t{1} << 26;
  return bytes;
}

std::optional<std::size_t> elements_written(std::vector<WrittenField> const& written, std::string const& field,
                                            std::vector<ExpectedField> const& reference) {
  if (written.empty()) return all_elements;
  auto const entry = std::ranges::find(written, field, &WrittenField::field);
  if (entry == written.end()) return std::nullopt;
  if (entry->count_field.empty()) return all_elements;
  auto const count = std::ranges::find(reference, entry->count_field, &ExpectedField::name);
  if (count == reference.end() || count->value.size() != 1) {
    throw std::runtime_error("the row counts the elements of `" + field + "` by `" + entry->count_field +
                             "` (the reference has no such field of one element); name another");
  }
  auto const of_all = static_cast<std::size_t>(count->value.front());
  return of_all - std::min(of_all, entry->first);
}

std::string disagreement(Oracle const& oracle) {
  // More than one step, because the file's numbers may have their own chain of roundings (NumPy's sums). This number of
  // steps is still far smaller than the error of a wrong element.
  double const steps = 64;
  for (ExpectedField const& expected : oracle.reference) {
    HostField const* const stored = find_field(oracle.from_file, expected.name);
    if (stored == nullptr) continue;
    Verdict const verdict = verify_against_file(*stored, expected, rounded(expected, stored->dtype), steps);
    if (!verdict.passed) {
      return "the reference and the file's /expected disagree (" + verdict.message +
             "; nothing can be verified); correct the one that is wrong";
    }
  }
  return {};
}

RowReport describe_row(Row const& row, SamplingOptions const& sampling, RowReport report) {
  report.variant = row.info.name;
  report.space = row.space;
  report.dtype = row.dtype;
  report.level = row.info.level;
  report.deterministic = row.info.deterministic;
  report.unit = row.info.unit;
  report.unit_products = row.info.unit_products;
  report.cold = sampling.cold;
  report.status = Status::failed;
  return report;
}

std::string reason_to_skip(Row const& row, Case& problem_case) {
  try {
    (void)start(row, problem_case);
  } catch (NoMemory const&) {  // the fault of the case may be the cause
    return {};
  } catch (Skip const& skip) {
    return skip.what();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the case's fault is reported
  }
  return {};
}

std::optional<RowReport> run_row(Row const& row, Case& problem_case, Oracle const& oracle,
                                 SamplingOptions const& sampling, RowReport report,
                                 std::function<bool()> const& interrupted, TakeOutput const& take_output,
                                 Verified& verified) {
  report = describe_row(row, sampling, std::move(report));
  bool started = false;
  // Other ranks wait for communication from this rank: the only way out is to end all ranks.
  auto const fail = [&](std::string const& why) {
    if (started && ranks::world().count() > 1) {
      (void)std::fprintf(stderr, "rank %d: %s on %s: %s\n", ranks::world().rank(), report.variant.c_str(),
                         report.space.c_str(), why.c_str());
      ranks::world().abort(1);
    }
    report.reason = why;
  };
  try {
    std::unique_ptr<RowRun> const run = start(row, problem_case);
    started = true;
    std::string weakness;
    report.reason =
        judge(*run, row, problem_case, oracle, sampling, report, interrupted, take_output, weakness, verified);
    if (report.samples.interrupted) return std::nullopt;
    if (report.reason.empty()) {
      report.status = weakness.empty() ? Status::passed : Status::weak;
      report.reason = weakness;
    }
  } catch (Skip const& skip) {
    report.status = Status::skipped;
    report.reason = skip.what();
  } catch (std::bad_alloc const&) {
    fail("out of memory (an allocation failed); choose a smaller case");
  } catch (std::exception const& error) {
    fail(*error.what() != '\0' ? error.what() : "exception without a message");
  } catch (...) {
    fail("exception of an unknown type");
  }
  if (report.status != Status::passed && report.status != Status::weak) {
    report.samples = {};
    report.energy.reset();
  }
  return report;
}

}  // namespace tessera
