#pragma once
/// \file
/// The one-screen report for people: one line per mini-app when it is done, and a summary at the end.

#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <tessera/cli/nearest.hpp>
#include <tessera/report/report.hpp>
#include <tessera/table/app.hpp>

namespace tessera {

/// Width of the digest's lines. Only commands may be longer, so that they can be copied.
inline constexpr std::size_t digest_width = page_width;
/// Lines of a screen; a digest of all mini-apps fits on it.
inline constexpr std::size_t digest_lines = 40;

/// True if a case is large enough that its time says something about speed.
[[nodiscard]] constexpr bool tells_speed(double bytes, double flops) { return bytes >= 0x1p24 || flops >= 0x1p24; }

/// Returns "48% of copy" or "0.4% of roof": the share of the roof if operations bind, otherwise of copy bandwidth. The
/// suffix "*" means in a cache, "?" that the roof may be wrong. Empty if unknown.
[[nodiscard]] std::string share_text(RowReport const& row);

/// Counts things that were left out, by reason.
class Reasons {
 public:
  void add(std::string const& reason);
  [[nodiscard]] bool empty() const { return reasons_.empty(); }
  [[nodiscard]] std::size_t count() const;
  /// Returns "built without Kokkos Kernels (60), rows of N elements (4), 3 other reasons (12)", with as many reasons as
  /// fit.
  [[nodiscard]] std::string text(std::size_t width) const;

 private:
  std::vector<std::pair<std::string, std::size_t>> reasons_;  // in the order of first occurrence
};

/// The part of the digest after the mini-apps.
struct DigestEnd {
  std::vector<std::string> warnings;
  std::string noise;                                        ///< noise_text, or empty
  std::vector<std::string> roofs;                           ///< one line per space
  std::vector<std::pair<std::string, std::string>> files;   ///< description and path
  std::vector<std::pair<std::string, std::string>> to_try;  ///< command and description
  std::string log;                                          ///< --log, or empty
};

/// Prints the digest.
class Digest {
 public:
  /// `apps` are the names of the mini-apps that will run; `spaces` and `dtypes` are numbers of spaces and dtypes.
  Digest(std::ostream& out, std::vector<std::string> const& apps, std::size_t spaces, std::size_t dtypes);

  /// Begins a mini-app with `cases` cases; `rows` are the rows of all cases together.
  void begin_app(App const& app, std::size_t cases, std::vector<Row const*> const& rows);
  /// `tuning` is set if the run tries several tunings. `same_input` is true if the input is the previous case's input.
  void begin_case(CaseReport const& report, std::string const& description, std::string const& tuning = {},
                  bool same_input = false);
  /// `repeat` is the command that runs only this row.
  void add_row(RowReport const& row, std::string const& repeat);
  void leave_out_file(std::string const& reason);
  void leave_out_app(std::string const& reason);
  /// Prints the line of the mini-app that began last, unless it has been printed.
  void end_app();
  void finish(DigestEnd const& end);

  /// Returns the mini-app whose best row is furthest below its roof, with "4.9% of roof"; empty if no speed is known.
  [[nodiscard]] std::pair<std::string, std::string> const& slowest() const { return slowest_; }

 private:
  // The fastest row of the case that moves the most bytes, on one space. A noisy row only if all rows are noisy.
  struct Best {
    double bytes = 0;
    std::size_t input = 0;
    double seconds = 0;
    bool noisy = false;
    double share = unknown;
    std::string variant;  // with its tuning if the run tries several: "look_back at tile 256"
    DType dtype = DType::float32;
    std::string text;  // "48% of copy"
  };
  // All rows of a variant on a space that failed or are weak; the first one is described in full.
  struct Failure {
    Status status = Status::failed;
    std::string title;
    std::string reason;
    std::string repeat;
    std::size_t more = 0;
  };
  struct AppState {
    std::string name;
    std::size_t cases = 0;
    std::size_t variants = 0;
    std::size_t verified = 0;
    std::map<Status, std::size_t> rows;
    std::size_t competing = 0;      // rows that could be the best
    std::size_t with_own_work = 0;  // rows that could not, because their work differs from the work of their case
    std::vector<std::pair<std::string, Best>> best;  // by space, in the order of the run
  };

  void end_case();
  void print_failures(std::string const& log);
  [[nodiscard]] std::string best_text() const;
  [[nodiscard]] std::string verdict_text() const;

  std::ostream* out_;
  std::size_t name_width_ = 0;
  bool several_spaces_;
  bool several_dtypes_;

  AppState app_;
  bool app_open_ = false;
  std::map<Status, std::size_t> case_rows_;
  std::map<Status, std::size_t> all_rows_;
  double case_bytes_ = 0;
  double case_flops_ = 0;
  std::string case_description_;
  std::string case_tuning_;
  std::size_t inputs_ = 0;  // inputs begun so far

  std::vector<std::pair<std::string, Failure>> failures_;  // by status, app, variant and space
  bool unsure_ = false;                                    // a row's roofs are unsure
  bool has_best_ = false;                                  // a line named a best row
  std::size_t lines_ = 0;                                  // lines of mini-apps printed so far
  Reasons skipped_;
  Reasons files_left_out_;
  Reasons apps_left_out_;
  std::pair<std::string, std::string> slowest_;
  double slowest_share_ = unknown;
};

}  // namespace tessera
