#include <tessera/report/csv.hpp>

#include <cmath>
#include <utility>
#include <vector>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/options.hpp>
#include <tessera/cli/sizes.hpp>

#include "json.hpp"

namespace tessera {

namespace {

constexpr char const* columns =
    "app,variant,level,space,dtype,size,file,parameters,ranks,cold,status,noisy,samples,seconds,seconds_min,"
    "seconds_first_quartile,seconds_third_quartile,seconds_max,speedup,bytes,flops,bytes_per_second,flops_per_second,"
    "share_of_copy,share_of_roof,checked_relative_error,worst_error_in_bounds,joules_per_element,joules_per_flop,"
    "watts,reason";

std::string csv_quoted(std::string const& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (char const letter : text) result += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return result + "\"";
}

std::string csv_cell(report::Json const& value) {
  if (value.is_null()) return {};
  if (value.is_number_float()) return std::isfinite(value.get<double>()) ? shortest_text(value.get<double>()) : "";
  return csv_quoted(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

Csv::Csv(std::string path) : file_("--csv", std::move(path)), text_(std::string(columns) + "\n") {}

void Csv::add_row(RowReport const& row, std::string const& file, ParameterMap const& parameters) {
  std::vector<std::string> settings;
  for (auto const& [name, value] : parameters) settings.push_back(name + "=" + to_string(value));
  report::Json json = report::row_json(row);
  json["file"] = file;
  json["parameters"] = join(settings, " ");
  json["ranks"] = row.ranks.count;
  json["samples"] = row.samples.seconds.size();
  json["speedup"] = row.speedup;
  json["joules_per_element"] = row.joules_per_element();
  json["joules_per_flop"] = row.joules_per_flop();
  json["watts"] = row.energy ? row.energy->watts() : unknown;
  std::vector<std::string> cells;
  for (std::string const& column : split_at_commas(columns)) cells.push_back(csv_cell(json[column]));
  text_ += join(cells, ",") + "\n";
  has_rows_ = true;
}

void Csv::write() {
  if (has_rows_) file_.replace(text_);
}

}  // namespace tessera
