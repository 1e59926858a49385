#include <tessera/report/csv.hpp>

#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/options.hpp>

namespace tessera {

namespace {

using Cell = std::pair<char const*, std::string>;

// Returns the shortest text that reads back as the same number.
std::string csv_number(double value) {
  if (!std::isfinite(value)) return {};
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string csv_quoted(std::string const& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (char const letter : text) result += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return result + "\"";
}

// Returns a row with the names of its columns: both come from this function, so that they agree.
std::vector<Cell> csv_cells(RowReport const& row, std::string const& file, ParameterMap const& parameters) {
  std::string settings;
  for (auto const& [name, value] : parameters)
    settings += (settings.empty() ? "" : " ") + name + "=" + to_string(value);
  bool const timed = !row.samples.seconds.empty();
  Statistics const times =
      timed ? statistics(row.samples.seconds) : Statistics{unknown, unknown, unknown, unknown, unknown};
  auto const truth = [](bool value) { return std::string(value ? "true" : "false"); };
  return {{"app", row.app},
          {"variant", row.variant},
          {"level", std::string(name_of(row.level))},
          {"space", row.space},
          {"dtype", std::string(name_of(row.dtype))},
          {"size", row.size ? std::to_string(*row.size) : ""},
          {"file", file},
          {"parameters", settings},
          {"ranks", std::to_string(row.ranks.count)},
          {"cold", truth(row.cold)},
          {"status", std::string(name_of(row.status))},
          {"noisy", truth(row.noisy())},
          {"samples", std::to_string(row.samples.seconds.size())},
          {"seconds", csv_number(times.median)},
          {"seconds_min", csv_number(times.min)},
          {"seconds_first_quartile", csv_number(times.first_quartile)},
          {"seconds_third_quartile", csv_number(times.third_quartile)},
          {"seconds_max", csv_number(times.max)},
          {"speedup", csv_number(row.speedup)},
          {"bytes", csv_number(row.bytes)},
          {"flops", csv_number(row.flops)},
          {"bytes_per_second", csv_number(row.bytes_per_second())},
          {"flops_per_second", csv_number(row.flops_per_second())},
          {"share_of_copy", csv_number(row.share_of_copy())},
          {"share_of_roof", csv_number(row.share_of_roof())},
          {"checked_relative_error", csv_number(row.checked_relative_error)},
          {"worst_error_in_bounds", csv_number(row.worst_error_in_bounds)},
          {"reason", row.reason}};
}

std::string csv_line(std::vector<Cell> const& cells, bool names) {
  std::vector<std::string> line;
  for (auto const& [name, value] : cells) line.push_back(csv_quoted(names ? name : value));
  return join(line, ",") + "\n";
}

}  // namespace

Csv::Csv(std::string path) : file_("--csv", std::move(path)), text_(csv_line(csv_cells({}, {}, {}), true)) {}

void Csv::add_row(RowReport const& row, std::string const& file, ParameterMap const& parameters) {
  text_ += csv_line(csv_cells(row, file, parameters), false);
  has_rows_ = true;
}

void Csv::write() {
  if (has_rows_) file_.replace(text_);
}

}  // namespace tessera
