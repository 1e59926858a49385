#pragma once
/// \file
/// The report for people: a table on stdout, printed row by row as rows finish.

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/measure/load.hpp>
#include <tessera/report/report.hpp>
#include <tessera/table/app.hpp>

namespace tessera {

/// Returns "850 ns", "12.3 us", "1.23 ms", "2.35 s"; "-" if unknown.
[[nodiscard]] std::string format_seconds(double seconds);
/// Returns "32 B", "64.0 KiB", "1.5 GiB".
[[nodiscard]] std::string format_bytes(double bytes);
/// Returns "16777216 (2^24)", "1000".
[[nodiscard]] std::string format_size(std::size_t size);
/// Returns three to four digits: "0.0012", "12.3", "4312"; "-" if unknown.
[[nodiscard]] std::string format_number(double value);

/// The mark in front of a noisy row's time, and in front of values computed from it.
inline constexpr std::string_view noise_mark = "~";

/// Returns "noise: 3 of 12 rows marked ~ (quartiles 1.5x apart); others kept 0.8 of 2 processors busy". The second half
/// is left out if `others` is unknown.
[[nodiscard]] std::string noise_text(std::size_t noisy, std::size_t timed, std::optional<OtherLoad> const& others);

/// Returns "efficiency 93.1%: weak scaling, one rank takes 12.3 ms (distributed, size 1024 (2^10))".
[[nodiscard]] std::string scaling_text(Scaling const& scaling);

/// Returns a reason without its numbers: "rows of 4096 elements" becomes "rows of N elements". Reasons of the same kind
/// are shown once.
[[nodiscard]] std::string reason_kind(std::string const& reason);

/// Prints cases and rows. Column widths are computed in advance from what will run, so that rows can be printed during
/// the run and still align. Skipped rows are listed below the mini-app's last case, once per reason.
class Table {
 public:
  /// `spread`, `energy`: with the columns of --spread, of --energy.
  explicit Table(std::ostream& out, bool spread = false, bool energy = false)
      : out_(&out), spread_(spread), energy_(energy) {}

  /// Begins a mini-app and ends the previous one. `rows` are the rows that will be printed for it.
  void begin_app(App const& app, std::vector<Row const*> const& rows);
  /// Begins a case. `index` starts at 0.
  void begin_case(CaseReport const& report, std::size_t index, std::size_t count);
  void add_row(RowReport const& row);
  /// Prints which rows were skipped, and why.
  void end_app();

 private:
  // The skips of a row for one kind of reason.
  struct Skipped {
    std::string row;                 // "kernels", or "kernels on openmp" if there are several spaces
    std::string kind;                // reason_kind of the reasons
    std::string reason;              // the first reason
    bool others = false;             // there are reasons with other numbers
    std::vector<std::size_t> cases;  // starting at 1
  };

  std::ostream* out_;
  bool spread_;
  bool energy_;
  std::size_t variant_width_ = 0;
  std::size_t space_width_ = 0;
  bool with_flops_ = false;
  bool heading_printed_ = false;
  std::string rate_;  ///< AppInfo::rate
  bool several_spaces_ = false;
  std::size_t case_ = 0;          // starting at 1
  std::size_t cases_of_app_ = 0;  // cases that have begun
  std::vector<Skipped> skipped_;
};

}  // namespace tessera
