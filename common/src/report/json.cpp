#include "json.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace tessera::report {

double positive_or_unknown(Json const& value) {
  return value.is_number() && value.get<double>() > 0 ? value.get<double>() : unknown;
}

Json space_json(SpaceReport const& space) {
  Roofs const& roofs = space.roofs;
  Json peaks = Json::object();
  for (DType const dtype : arithmetic_dtypes) peaks[std::string(name_of(dtype))] = roofs.peak(dtype);
  Json matrix_peaks = Json::object();
  for (Unit const unit : matrix_units) {
    matrix_peaks[std::string(name_of(unit))] = roofs.matrix_peak(unit);
  }
  Json json;
  json["device"] = space.device;
  json["concurrency"] = space.concurrency;
  json["copy_bytes_per_second"] = roofs.copy_bytes_per_second;
  json["triad_bytes_per_second"] = roofs.triad_bytes_per_second;
  json["read_bytes_per_second"] = roofs.read_bytes_per_second;
  json["peak_operations_per_second"] = peaks;
  json["matrix_peak_operations_per_second"] = matrix_peaks;
  json["launch_seconds"] = roofs.launch_seconds;
  json["launch_and_fence_seconds"] = roofs.launch_and_fence_seconds;
  json["working_set_bytes"] = roofs.working_set_bytes;
  json["roofs_unsure"] = roofs.unsure.empty() ? Json(nullptr) : Json(roofs.unsure);
  return json;
}

Json read_document(std::string const& path, std::string_view schema,
                   void (*refuse)(std::string const& path, std::string const& why)) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    refuse(path, "it is not a regular file");
  }
  std::ifstream file(path);
  if (!file) refuse(path, "there is no such file, or it cannot be read");
  Json json = Json::parse(file, nullptr, false);
  if (json.is_discarded() || !json.is_object()) refuse(path, "it is not a JSON object");
  if (!json.contains("schema") || json["schema"] != schema) {
    refuse(path, "its schema is not " + std::string(schema));
  }
  return json;
}

}  // namespace tessera::report
