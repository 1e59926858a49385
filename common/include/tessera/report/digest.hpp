#pragma once
/// \file
/// The report for people who want one screen: a line a mini-app as it is done, and at the end what they need to go on.

#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tessera/report/report.hpp>
#include <tessera/table/app.hpp>

namespace tessera {

/// Lines of the digest are no longer, save for commands, which are there to be copied.
inline constexpr std::size_t digest_width = 100;
/// Lines of a screen, which a digest of all mini-apps fits on.
inline constexpr std::size_t digest_lines = 40;

/// True if a case is large enough for its time to say something about speed.
[[nodiscard]] constexpr bool tells_speed(double bytes, double flops) { return bytes >= 0x1p24 || flops >= 0x1p24; }

/// "48% of copy", "0.4% of roof": of the roof where operations bind, of copy bandwidth otherwise. "*" behind it: in
/// a cache; "?": the roof may be wrong. Empty if unknown.
[[nodiscard]] std::string share_text(RowReport const& row);

/// `text` in lines of the digest's width, each but the first indented.
[[nodiscard]] std::string wrapped(std::string const& text, std::size_t indent);

/// Counts things that were left out, by the reason.
class Reasons {
 public:
  void add(std::string const& reason);
  [[nodiscard]] bool empty() const { return reasons_.empty(); }
  [[nodiscard]] std::size_t count() const;
  /// "built without Kokkos Kernels (60), rows of N elements (4), 3 other reasons (12)": as many reasons as fit.
  [[nodiscard]] std::string text(std::size_t width) const;

 private:
  std::vector<std::pair<std::string, std::size_t>> reasons_;  // in the order of the first
};

/// What the digest says after the mini-apps.
struct DigestEnd {
  std::vector<std::string> warnings;
  std::string noise;                                        ///< noise_text, or empty
  std::vector<std::string> roofs;                           ///< a line a space
  std::vector<std::pair<std::string, std::string>> files;   ///< what it is, path
  std::vector<std::pair<std::string, std::string>> to_try;  ///< a command, what it shows
  std::string log;                                          ///< --log, or empty
};

/// Prints the digest.
class Digest {
 public:
  /// `apps` and `spaces` are the names of those that will run.
  Digest(std::ostream& out, std::vector<std::string> const& apps, std::size_t spaces, std::size_t dtypes);

  /// A mini-app begins, with so many cases and these rows in all of them together.
  void begin_app(App const& app, std::size_t cases, std::vector<Row const*> const& rows);
  /// `tuning` where the run tries several; `same_input` where the input is the one of the case before.
  void begin_case(CaseReport const& report, std::string const& description, std::string const& tuning = {},
                  bool same_input = false);
  /// `repeat` is the command that runs this row alone.
  void add_row(RowReport const& row, std::string const& repeat);
  void leave_out_file(std::string const& reason);
  void leave_out_app(std::string const& reason);
  /// Prints the line of the mini-app that began last, unless it is printed.
  void end_app();
  void finish(DigestEnd const& end);

  /// The mini-app whose best row is furthest below its roof, with "4.9% of roof"; empty if no speed is known.
  [[nodiscard]] std::pair<std::string, std::string> const& slowest() const { return slowest_; }

 private:
  // The fastest row of the case that moves most, on one space; a noisy one only if all are.
  struct Best {
    double bytes = 0;
    std::size_t input = 0;
    double seconds = 0;
    bool noisy = false;
    double share = unknown;
    std::string variant;  // with its tuning, where the run tries several: "look_back at tile 256"
    DType dtype = DType::float32;
    std::string text;  // "48% of copy"
  };
  // All rows of a variant on a space that failed, or that are weak: the first in full.
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
    std::size_t with_own_work = 0;  // rows that could not, since their work is another than their case's
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
  std::size_t inputs_ = 0;  // begun so far

  std::vector<std::pair<std::string, Failure>> failures_;  // by status, app, variant and space
  bool unsure_ = false;                                    // the roofs of a row are
  bool has_best_ = false;                                  // a line named one
  std::size_t lines_ = 0;                                  // of mini-apps, so far
  Reasons skipped_;
  Reasons files_left_out_;
  Reasons apps_left_out_;
  std::pair<std::string, std::string> slowest_;
  double slowest_share_ = unknown;
};

}  // namespace tessera
