#pragma once
/// \file
/// The results of a run: plain structs, and one JSON document that can be read at any time during the run.
///
/// The document (schema "tessera-report/1") has the keys `schema`, `input` (the cases), `build`, `system` and `rows`; a
/// row refers to its case by index. Units are in the keys. Values that are unknown or not finite are null.

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>
#include <tessera/io/whole_file.hpp>
#include <tessera/measure/energy.hpp>
#include <tessera/measure/roofs.hpp>
#include <tessera/measure/sampling.hpp>
#include <tessera/table/kernel_use.hpp>

namespace tessera {

/// `weak`: no error was found, but the error bound is too loose to detect a lost tile.
enum class Status : std::uint8_t { passed, failed, skipped, weak };

[[nodiscard]] constexpr std::string_view name_of(Status status) {
  switch (status) {
    case Status::passed: return "passed";
    case Status::failed: return "failed";
    case Status::skipped: return "skipped";
    case Status::weak: return "weak";
  }
  return "unknown";
}

/// Summary of a number that each rank has.
struct OverRanks {
  double min = unknown;
  double median = unknown;
  double max = unknown;
};

/// Scaling of a row on several ranks, relative to a row of one rank (report/baseline.hpp).
struct Scaling {
  double efficiency = unknown;
  bool weak = false;                ///< the one rank had the size of one rank's part; otherwise the whole size
  std::string variant;              ///< of the one-rank row
  std::optional<std::size_t> size;  ///< of the one-rank row, for a generated case
  double seconds = unknown;         ///< of the one-rank row
  bool noisy = false;               ///< at least one of the two times is noisy
};

/// How the ranks shared a row: means over its samples, per launch.
struct RanksReport {
  int count = 1;
  OverRanks seconds;           ///< per rank, from the barrier to the end of its part
  OverRanks communication;     ///< the part of `seconds` spent in communication, including waiting
  double imbalance = unknown;  ///< slowest rank's computing time over the mean: 1 is balanced
  double bytes = 0;            ///< sent by all ranks to others
  double messages = 0;         ///< of all ranks
  std::string transport;  ///< of bulk data, if the row has any: "host", "staged", "device" or "nccl"; empty on one rank
  std::optional<Scaling> scaling;  ///< with --baseline, if it has a row to compare with
};

/// One variant on one execution space on one case.
struct RowReport {
  std::string app;
  std::size_t case_index = 0;
  std::optional<std::size_t> size;  ///< --size of a generated case
  std::string variant;
  std::string space;
  DType dtype = DType::float32;
  Level level = Level::range;
  bool deterministic = true;       ///< according to the variant
  Unit unit = Unit::multiply_add;  ///< according to the variant
  int unit_products = 1;

  Status status = Status::failed;
  std::string reason;  ///< why it failed, was skipped or is weak

  Samples samples;  ///< empty if nothing was timed
  bool cold = false;
  double bytes = 0;  ///< least traffic of the case, or of the row if it differs
  double flops = 0;  ///< least number of operations
  Roofs roofs;       ///< of the space
  std::optional<Prediction> prediction;
  std::vector<KernelUse> kernels;  ///< of one launch on a GPU

  double rounding_steps = unknown;
  double worst_error_in_bounds = unknown;
  /// The largest bound divided by the root mean square of its field: a larger relative error is detected for certain. 0
  /// if all elements had to be exact; unknown if none was compared.
  double checked_relative_error = unknown;
  /// Not 0 if no element was compared, because the row draws its own values: the probability that the statistical tests
  /// reject right values.
  double false_alarms = 0;
  std::size_t elements = 0;   ///< of the output, verified twice: after the first and after the last launch
  std::size_t unchecked = 0;  ///< elements that the reference says nothing about
  std::string note;
  std::optional<Energy> energy;  ///< with --energy, if it could be measured
  std::string no_energy;         ///< with --energy: why it could not be measured after the samples
  double field_elements = 0;     ///< of the case's largest field, of input or output
  RanksReport ranks;
  /// Speedup over the mini-app's first variant on the same space, or over the next if the case skips that. Unknown if
  /// that variant was not timed before, or does other work.
  double speedup = unknown;
  bool noisy_speedup = false;  ///< this row or the first variant's row is noisy

  /// Returns the summary of the samples, in seconds per launch; unknown without samples.
  [[nodiscard]] Statistics times() const;
  [[nodiscard]] double seconds() const { return times().median; }
  /// True if the samples are too far apart for a reliable median: see noisy_ratio.
  [[nodiscard]] bool noisy() const { return is_noisy(samples.seconds); }
  [[nodiscard]] double bytes_per_second() const { return bytes / seconds(); }
  [[nodiscard]] double flops_per_second() const { return flops / seconds(); }
  /// Returns bytes per second divided by the space's copy bandwidth, or by its read bandwidth; unknown if nothing is
  /// moved.
  [[nodiscard]] double share_of_copy() const { return share(bytes_per_second(), roofs.copy_bytes_per_second); }
  [[nodiscard]] double share_of_read() const { return share(bytes_per_second(), roofs.read_bytes_per_second); }
  /// Returns the operations of the result that its unit can do per second.
  [[nodiscard]] double peak() const { return roofs.peak(dtype, unit) / unit_products; }
  /// Returns operations per second divided by peak(); unknown if there are no operations.
  [[nodiscard]] double share_of_peak() const { return share(flops_per_second(), peak()); }
  /// Returns the least time by the roofs, max(flops / peak, bytes / copy bandwidth), divided by the measured time.
  /// Unknown for a matrix unit with an unknown peak, because bandwidth only would be misleading.
  [[nodiscard]] double share_of_roof() const {
    if (unit != Unit::multiply_add && !(peak() > 0)) return unknown;
    return share(roofs.least_seconds(bytes, flops, peak()), seconds());
  }
  /// Returns the prediction if the row has parts that may overlap; otherwise null.
  [[nodiscard]] Prediction const* parts() const {
    return prediction && std::isfinite(prediction->sum_seconds) ? &*prediction : nullptr;
  }
  /// Returns the overlap of the parts: 0 if the row takes as long as their sum, 1 if it takes as long as the longest
  /// part. Unknown without parts, or if all but the longest take less than a tenth of the sum: noise is as large.
  [[nodiscard]] double overlap() const {
    Prediction const* const of = parts();
    if (of == nullptr) return unknown;
    double const hidden = of->sum_seconds - of->longest_seconds;
    return hidden > 0.1 * of->sum_seconds ? (of->sum_seconds - seconds()) / hidden : unknown;
  }
  /// Returns the energy of a launch divided by the elements of the case's largest field, or by the operations; unknown
  /// if it was not measured or there are none.
  [[nodiscard]] double joules_per_element() const { return joules_per(field_elements); }
  [[nodiscard]] double joules_per_flop() const { return joules_per(flops); }
  /// True if the peak binds instead of the bandwidth.
  [[nodiscard]] bool compute_bound() const { return roofs.compute_bound(bytes, flops, peak()); }

 private:
  [[nodiscard]] static double share(double of, double roof) { return of > 0 ? of / roof : unknown; }
  [[nodiscard]] double joules_per(double count) const { return energy && count > 0 ? energy->joules / count : unknown; }
};

/// One input.
struct CaseReport {
  std::string app;
  std::string source;               ///< path of the file; empty if generated
  std::optional<std::size_t> size;  ///< --size of a generated case
  std::optional<std::uint64_t> seed;
  std::optional<DataKind> data;  ///< of a generated case
  DType dtype = DType::float32;
  std::vector<std::pair<std::string, Shape>> input;  ///< name and shape of each field
  std::vector<std::pair<std::string, Shape>> output;
  ParameterMap parameters;
  bool has_expected = false;  ///< the file contains results to check as well
  double bytes = 0;           ///< least traffic
  double flops = 0;
  double reference_seconds = unknown;
};

/// One execution space of the machine.
struct SpaceReport {
  std::string name;
  std::string device;
  int concurrency = 0;
  Roofs roofs;
  std::string machine_file;  ///< source of the roofs, a path or "--roof ..."; empty: measured in this run
};

/// Returns a row as `--lines` prints it, for scripts. The names and their order are fixed: "TESSERA row app=map
/// variant=range space=openmp dtype=float size=1024 ranks=1 seconds=1.5e-06 bytes_per_second=5.5e+09 share_of_roof=0.25
/// checked=exact status=passed noisy=false". Unknown values, and the size of a case from a file, are "-". `checked` is
/// "exact", a relative error, or "p<1e-06": judged by statistical tests with that false-alarm rate.
[[nodiscard]] std::string row_line(RowReport const& row);

/// Names and values; booleans read "true" and "false".
using Facts = std::map<std::string, std::string>;

/// All results of a run, and their file.
class Report {
 public:
  /// `path` is --json, or empty for no file. Throws UserError if it cannot be written: no such directory, no
  /// permission, or an existing path that is not a regular file. Leaves no file behind before the first row.
  explicit Report(std::string path = {}, Clock now = steady_seconds);
  Report(Report const&) = delete;
  Report& operator=(Report const&) = delete;
  /// Writes the remaining results; errors are ignored.
  ~Report();

  Facts build;
  Facts system;
  std::vector<SpaceReport> spaces;  ///< in the order of their first rows

  /// Returns the case's index.
  std::size_t add_case(CaseReport const& report);
  /// Adds a row. Rewrites the whole file if at least 20 times the duration of the last write has passed since that
  /// write. Writing therefore takes at most 5% of a run, independent of the number of rows, and a crash loses only the
  /// rows since the last write. Throws std::runtime_error if writing fails; the row is kept.
  void add_row(RowReport const& report);
  /// Writes the file if it lacks rows, or if it is an older report, which does not stand for this run. Throws as
  /// add_row.
  void flush();
  /// Writes the file with `system["finished"]` set, if there is a row. Throws as add_row.
  void finish();

  /// Returns how often the file was written, including failed attempts.
  [[nodiscard]] std::size_t writings() const { return writings_; }
  [[nodiscard]] std::size_t count(Status status) const { return counts_[static_cast<std::size_t>(status)]; }
  [[nodiscard]] std::size_t rows() const;
  [[nodiscard]] std::size_t timed() const { return timed_; }
  [[nodiscard]] std::size_t noisy() const { return noisy_; }  ///< of the timed rows

  /// Returns "TESSERA rows=12 passed=12 failed=0 skipped=0 weak=0": the last line of stdout, for scripts.
  [[nodiscard]] std::string last_line() const;
  /// Returns the JSON document.
  [[nodiscard]] std::string document() const;

 private:
  void write();

  std::unique_ptr<WholeFile> file_;  ///< of --json, if given
  Clock now_;
  std::size_t writings_ = 0;
  double written_at_ = 0;     // end of the last write
  double write_seconds_ = 0;  // duration of the last write
  bool all_written_ = true;
  // Stored as JSON text, one line each, because the document is rewritten many times.
  std::vector<std::string> cases_;
  std::vector<std::string> rows_;
  // Another thread may call last_line().
  std::array<std::atomic<std::size_t>, 4> counts_{};  // by status
  std::size_t timed_ = 0;
  std::size_t noisy_ = 0;
};

}  // namespace tessera
