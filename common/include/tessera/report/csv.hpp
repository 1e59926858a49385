#pragma once
/// \file
/// The report for spreadsheets (--csv): a line a row, in the columns and units that the rows of the JSON report have.

#include <string>

#include <tessera/core/types.hpp>
#include <tessera/io/whole_file.hpp>
#include <tessera/report/report.hpp>

namespace tessera {

/// The names of the columns, then the rows, as RFC 4180 has it, but with lines that end in a single newline. What is unknown is
/// an empty cell.
class Csv {
 public:
  /// Throws UserError if the file cannot be written.
  explicit Csv(std::string path);

  /// `file`: where the case comes from, empty if it is generated.
  void add_row(RowReport const& row, std::string const& file, ParameterMap const& parameters);
  /// All of it.
  [[nodiscard]] std::string const& text() const { return text_; }
  /// Writes the file, if there is a row. Throws std::runtime_error if that fails.
  void write();

 private:
  WholeFile file_;
  std::string text_;
  bool has_rows_ = false;
};

}  // namespace tessera
