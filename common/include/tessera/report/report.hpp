#pragma once
/// \file
/// What a run leaves behind: plain structs, and one JSON document of them that can be read at any moment of the run.
///
/// The document (schema "tessera-report/1") has the keys `schema`, `input` (the cases), `build`, `system`, `rows`; a
/// row points to its case by index. Units are in the keys. What is unknown or not finite is null.

#include <atomic>
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
#include <tessera/measure/roofs.hpp>
#include <tessera/measure/sampling.hpp>
#include <tessera/table/kernel_use.hpp>

namespace tessera {

/// `weak`: nothing wrong was found, but the check was so wide that it could not have seen one tile lost.
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

/// A number of each rank, in short.
struct OverRanks {
  double min = unknown;
  double median = unknown;
  double max = unknown;
};

/// How well a row on several ranks scales: against a row of one rank (report/baseline.hpp).
struct Scaling {
  double efficiency = unknown;
  bool weak = false;                ///< the one rank had one rank's part of the size; else all of it
  std::string variant;              ///< the one rank's
  std::optional<std::size_t> size;  ///< the one rank's, of a generated case
  double seconds = unknown;         ///< the one rank's
  bool noisy = false;               ///< one of the two times is noisy
};

/// How the ranks of a row shared it: means over its samples, of one launch.
struct RanksReport {
  int count = 1;
  OverRanks seconds;           ///< of a rank, from the barrier to the end of its part
  OverRanks communication;     ///< of these, what it spent talking to others, waiting for them included
  double imbalance = unknown;  ///< computing, the slowest rank's over the mean: 1 is even
  double bytes = 0;            ///< sent by all ranks to others
  double messages = 0;         ///< of all ranks
  std::string transport;  ///< of bulk data, if the row has any: "host", "staged", "device" or "nccl"; empty on one rank
  std::optional<Scaling> scaling;  ///< with --baseline, if that has a row to compare with
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
  bool deterministic = true;       ///< what the variant claims
  Unit unit = Unit::multiply_add;  ///< and this
  int unit_products = 1;

  Status status = Status::failed;
  std::string reason;  ///< why it failed, was skipped or is weak

  Samples samples;  ///< empty where nothing was timed
  bool cold = false;
  double bytes = 0;  ///< the least traffic of the case, or of the row where that is another
  double flops = 0;  ///< its least operations
  Roofs roofs;       ///< of the space
  std::optional<Prediction> prediction;
  std::vector<KernelUse> kernels;  ///< of a launch on a GPU

  double rounding_steps = unknown;
  double worst_error_in_bounds = unknown;
  /// The largest bound over the root mean square of its field: a relative error above it is noticed for sure. 0 where
  /// all elements had to be exact; unknown if none was compared.
  double checked_relative_error = unknown;
  std::size_t elements = 0;   ///< of the output, verified twice: after the first launch and after the last
  std::size_t unchecked = 0;  ///< of these, elements of which the reference cannot say anything
  std::string note;
  RanksReport ranks;
  /// How many times as fast as the mini-app's first variant on the same space; unknown where that was not timed before, or
  /// does other work.
  double speedup = unknown;
  bool noisy_speedup = false;  ///< this row or that one is noisy

  /// Median of the samples, seconds of one launch; unknown without samples.
  [[nodiscard]] double seconds() const;
  /// True if the median is no figure, since the samples are too far apart: see noisy_ratio.
  [[nodiscard]] bool noisy() const { return is_noisy(samples.seconds); }
  [[nodiscard]] double bytes_per_second() const { return bytes / seconds(); }
  [[nodiscard]] double flops_per_second() const { return flops / seconds(); }
  /// Bytes per second over the space's copy bandwidth, or over its read bandwidth; unknown where nothing is moved.
  [[nodiscard]] double share_of_copy() const { return share(bytes_per_second(), roofs.copy_bytes_per_second); }
  [[nodiscard]] double share_of_read() const { return share(bytes_per_second(), roofs.read_bytes_per_second); }
  /// Operations of the result that its unit can do in a second.
  [[nodiscard]] double peak() const { return roofs.peak(dtype, unit) / unit_products; }
  /// Operations per second over that; unknown where there are none.
  [[nodiscard]] double share_of_peak() const { return share(flops_per_second(), peak()); }
  /// The least time by the roofs, min(peak, copy bandwidth * flops / bytes), over the time taken. Unknown for a matrix unit whose
  /// peak is not: bandwidth alone would leave next to nothing of what bounds it.
  [[nodiscard]] double share_of_roof() const {
    if (unit != Unit::multiply_add && !(peak() > 0)) return unknown;
    return share(roofs.least_seconds(bytes, flops, peak()), seconds());
  }
  /// True if the peak binds rather than the bandwidth.
  [[nodiscard]] bool compute_bound() const { return roofs.compute_bound(bytes, flops, peak()); }

 private:
  [[nodiscard]] static double share(double of, double roof) { return of > 0 ? of / roof : unknown; }
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
  bool has_expected = false;  ///< the file brings results to check as well
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
  std::string machine_file;  ///< where the roofs come from, a path or "--roof ..."; empty: measured in this run
};

/// A row as `--lines` prints it, for scripts; the names and their order stay as they are:
/// "TESSERA row app=map variant=range space=openmp dtype=float size=1024 ranks=1 seconds=1.5e-06 bytes_per_second=5.5e+09
/// share_of_roof=0.25 checked=exact status=passed noisy=false". What is unknown, and the size of a case from a file, is "-";
/// `checked` is "exact" or a relative error.
[[nodiscard]] std::string row_line(RowReport const& row);

/// Names and values; true and false facts read "true" and "false".
using Facts = std::map<std::string, std::string>;

/// All of a run, and its file.
class Report {
 public:
  /// `path` is --json, or empty for no file. Throws UserError if it cannot be written: no such directory, no
  /// permission, or what is there is no regular file. Leaves nothing behind until the first row.
  explicit Report(std::string path = {}, Clock now = steady_seconds);
  Report(Report const&) = delete;
  Report& operator=(Report const&) = delete;
  /// Writes what is not written yet; an error is silent.
  ~Report();

  Facts build;
  Facts system;

  /// Returns the case's index.
  std::size_t add_case(CaseReport const& report);
  void add_space(SpaceReport const& report);
  /// A row showed why that space's roofs are unsure.
  void doubt_space(std::string const& name, std::string const& why);
  /// Takes a row, and writes the whole file anew if 20 times as long has gone by as the last writing took. So writing
  /// takes at most a twentieth of a run's time however many rows there are, and a crash loses at most the rows since
  /// the last writing. Throws std::runtime_error if writing fails; the row is kept.
  void add_row(RowReport const& report);
  /// Writes the file if there are rows that it lacks. Throws as add_row.
  void flush();
  /// Writes the file with `system["finished"]` set, if there is a row. Throws as add_row.
  void finish();

  /// How often the file was written, or tried.
  [[nodiscard]] std::size_t writings() const { return writings_; }
  [[nodiscard]] std::size_t rows() const { return passed_ + failed_ + skipped_ + weak_; }
  [[nodiscard]] std::size_t failed() const { return failed_; }
  [[nodiscard]] std::size_t weak() const { return weak_; }
  [[nodiscard]] std::size_t timed() const { return timed_; }
  [[nodiscard]] std::size_t noisy() const { return noisy_; }  ///< of those that were timed

  /// "TESSERA rows=12 passed=12 failed=0 skipped=0 weak=0": the last line of stdout, for scripts.
  [[nodiscard]] std::string last_line() const;
  /// The JSON document.
  [[nodiscard]] std::string document() const;

 private:
  void write();

  std::unique_ptr<WholeFile> file_;  ///< of --json, if asked for
  Clock now_;
  std::size_t writings_ = 0;
  double written_at_ = 0;     // when the last writing ended
  double write_seconds_ = 0;  // what it took
  bool all_written_ = true;
  // Already as JSON text, one line each: the document is renewed many times.
  std::vector<std::string> cases_;
  std::vector<std::string> rows_;
  std::vector<SpaceReport> spaces_;
  // The last line may be asked for by another thread.
  std::atomic<std::size_t> passed_ = 0;
  std::atomic<std::size_t> failed_ = 0;
  std::atomic<std::size_t> skipped_ = 0;
  std::atomic<std::size_t> weak_ = 0;
  std::size_t timed_ = 0;
  std::size_t noisy_ = 0;
};

}  // namespace tessera
