#pragma once
/// \file
/// The report for people: a table on stdout, row by row as they are done.

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

/// "850 ns", "12.3 us", "1.23 ms", "2.35 s"; "-" if unknown.
[[nodiscard]] std::string format_seconds(double seconds);
/// "32 B", "64.0 KiB", "1.5 GiB".
[[nodiscard]] std::string format_bytes(double bytes);
/// "16777216 (2^24)", "1000".
[[nodiscard]] std::string format_size(std::size_t size);
/// Three to four digits: "0.0012", "12.3", "4312"; "-" if unknown.
[[nodiscard]] std::string format_number(double value);

/// Which sign a noisy row has before its time, and before what is computed from it.
inline constexpr std::string_view noise_mark = "~";

/// "noise: 3 of 12 rows marked ~ (quartiles 1.5x apart); others kept 0.8 of 2 processors busy", without the second half if that
/// is not known.
[[nodiscard]] std::string noise_text(std::size_t noisy, std::size_t timed, std::optional<OtherLoad> const& others);

/// "efficiency 93.1%: weak scaling, one rank takes 12.3 ms (distributed, size 1024 (2^10))".
[[nodiscard]] std::string scaling_text(Scaling const& scaling);

/// A reason without its numbers: "rows of 4096 elements" becomes "rows of N elements". Reasons of one kind are shown
/// once.
[[nodiscard]] std::string reason_kind(std::string const& reason);

/// Prints cases and rows. Column widths come from what will run, so that rows can be printed while the run goes on and
/// still line up. Rows that were skipped stand below the mini-app's last case, once for each reason.
class Table {
 public:
  /// `spread`: with the columns of --spread.
  explicit Table(std::ostream& out, bool spread = false) : out_(&out), spread_(spread) {}

  /// A mini-app begins; `rows` are those that will be printed for it. Ends the one before.
  void begin_app(App const& app, std::vector<Row const*> const& rows);
  /// A case begins. `index` counts from 0.
  void begin_case(CaseReport const& report, std::size_t index, std::size_t count);
  void add_row(RowReport const& row);
  /// Says which rows were skipped, and why.
  void end_app();

 private:
  // A row's skips for one reason, whatever the numbers in it.
  struct Skipped {
    std::string row;                 // "kernels", or "kernels on openmp" where there are several spaces
    std::string kind;                // reason_kind of the reasons
    std::string reason;              // the first
    bool others = false;             // reasons with other numbers
    std::vector<std::size_t> cases;  // counted from 1
  };

  std::ostream* out_;
  bool spread_;
  std::size_t variant_width_ = 0;
  std::size_t space_width_ = 0;
  bool with_flops_ = false;
  bool heading_printed_ = false;
  bool several_spaces_ = false;
  std::size_t case_ = 0;          // counted from 1
  std::size_t cases_of_app_ = 0;  // that began
  std::vector<Skipped> skipped_;
};

}  // namespace tessera
