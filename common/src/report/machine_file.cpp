#include <tessera/report/machine_file.hpp>

#include "json.hpp"

namespace tessera {

namespace {

using report::Json;

constexpr char const* schema = "tessera-machine/1";

[[noreturn]] void refuse_machine(std::string const& path, std::string const& why) {
  throw UserError("cannot use --machine " + path + " (" + why + "); write one here with --save-machine FILE");
}

// Returns a roof: a positive number, or null if unknown.
double roof(std::string const& path, Json const& json, std::string const& key) {
  if (!json.contains(key)) refuse_machine(path, "it has no " + key);
  Json const& value = json[key];
  if (value.is_null()) return unknown;
  if (!value.is_number() || !(value.get<double>() > 0)) refuse_machine(path, key + " is not a positive number");
  return value.get<double>();
}

SpaceReport space_of(std::string const& path, std::string const& name, Json const& json) {
  SpaceReport space;
  space.name = name;
  space.machine_file = path;
  if (!json.contains("device") || !json["device"].is_string()) refuse_machine(path, name + " has no device");
  space.device = json["device"].get<std::string>();
  Roofs& roofs = space.roofs;
  roofs.copy_bytes_per_second = roof(path, json, "copy_bytes_per_second");
  roofs.triad_bytes_per_second = roof(path, json, "triad_bytes_per_second");
  roofs.read_bytes_per_second = roof(path, json, "read_bytes_per_second");
  roofs.launch_seconds = roof(path, json, "launch_seconds");
  roofs.launch_and_fence_seconds = roof(path, json, "launch_and_fence_seconds");
  roofs.working_set_bytes = roof(path, json, "working_set_bytes");
  if (!json.contains("peak_operations_per_second")) refuse_machine(path, name + " has no peak_operations_per_second");
  for (DType const dtype : arithmetic_dtypes) {
    roofs.peak_operations_per_second.at(static_cast<std::size_t>(dtype)) =
        roof(path, json["peak_operations_per_second"], std::string(name_of(dtype)));
  }
  // Older files do not have these.
  if (json.contains("roofs_unsure") && json["roofs_unsure"].is_string()) {
    roofs.unsure = json["roofs_unsure"].get<std::string>();
  }
  if (json.contains("matrix_peak_operations_per_second")) {
    for (Unit const unit : matrix_units) {
      roofs.matrix_peak(unit) = roof(path, json["matrix_peak_operations_per_second"], std::string(name_of(unit)));
    }
  }
  return space;
}

}  // namespace

std::map<std::string, SpaceReport> read_machine_file(std::string const& path) {
  Json const json = report::read_document(path, schema, refuse_machine);
  if (!json.contains("spaces") || !json["spaces"].is_object()) refuse_machine(path, "it has no spaces");
  std::map<std::string, SpaceReport> spaces;
  for (auto const& [name, space] : json["spaces"].items()) {
    if (!space.is_object()) refuse_machine(path, name + " is not a JSON object");
    spaces[name] = space_of(path, name, space);
  }
  return spaces;
}

void write_machine_file(WholeFile& file, std::vector<SpaceReport> const& spaces, Facts const& build,
                        Facts const& system) {
  Json json;
  json["schema"] = schema;
  json["build"] = build;
  json["system"] = system;
  json["spaces"] = Json::object();
  for (SpaceReport const& space : spaces) json["spaces"][space.name] = report::space_json(space);
  file.replace(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace tessera
