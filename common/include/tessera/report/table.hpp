#pragma once
/// \file
/// The report for people: a table on stdout, row by row as they are done.

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include <tessera/app/app.hpp>
#include <tessera/report/report.hpp>

namespace tessera {

/// "850 ns", "12.3 us", "1.23 ms", "2.35 s"; "-" if unknown.
[[nodiscard]] std::string format_seconds(double seconds);
/// "32 B", "64.0 KiB", "1.5 GiB".
[[nodiscard]] std::string format_bytes(double bytes);
/// "16777216 (2^24)", "1000".
[[nodiscard]] std::string format_size(std::size_t size);
/// Three to four digits: "0.0012", "12.3", "4312"; "-" if unknown.
[[nodiscard]] std::string format_number(double value);

/// Prints cases and rows. Column widths come from what will run, so that rows can be printed while the run goes on and
/// still line up.
class Table {
 public:
  explicit Table(std::ostream& out) : out_(&out) {}

  /// A mini-app begins; `rows` are those that will be printed for it.
  void begin_app(App const& app, std::vector<Row const*> const& rows);
  /// A case begins. `index` counts from 0.
  void begin_case(CaseReport const& report, std::size_t index, std::size_t count);
  void add_row(RowReport const& report);

 private:
  std::ostream* out_;
  std::size_t variant_width_ = 0;
  std::size_t space_width_ = 0;
  bool with_flops_ = false;
  bool heading_printed_ = false;
};

}  // namespace tessera
