#pragma once
/// \file
/// The report for spreadsheets (--csv): one line per row, with the columns and units of the rows in the JSON report.

#include <string>

#include <tessera/core/types.hpp>
#include <tessera/io/whole_file.hpp>
#include <tessera/report/report.hpp>

namespace tessera {

/// The names of the columns, then the rows, as in RFC 4180, except that lines end in a single newline. An unknown value
/// is an empty cell.
class Csv {
 public:
  /// Throws UserError if the file cannot be written.
  explicit Csv(std::string path);

  /// `file` is the path of the case's file, empty for a generated case.
  void add_row(RowReport const& row, std::string const& file, ParameterMap const& parameters);
  /// Returns the whole text.
  [[nodiscard]] std::string const& text() const { return text_; }
  /// Writes the file if there is a row. Throws std::runtime_error if that fails.
  void write();

 private:
  WholeFile file_;
  std::string text_;
  bool has_rows_ = false;
};

}  // namespace tessera
