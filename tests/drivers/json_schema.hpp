#pragma once
// The part of JSON Schema (draft 2020-12) that the schemas in common/schemas use. An unknown keyword is an error, so
// that no check is silently ignored.

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tessera::testing {

/// Returns one text with its location for each violation of `schema` (a part of `root`) by `value`.
inline void schema_faults(nlohmann::json const& root, nlohmann::json const& schema, nlohmann::json const& value,
                          std::string const& place, std::vector<std::string>& faults) {
  using nlohmann::json;
  static std::set<std::string> const known{
      "$schema", "$defs",      "$ref",     "title", "description",         "type", "enum", "const",
      "minimum", "properties", "required", "items", "additionalProperties"};
  for (auto const& [word, ignored] : schema.items()) {
    if (!known.contains(word)) throw std::invalid_argument("no check for `" + word + "` at " + place);
  }
  if (schema.contains("$ref")) {
    std::string const to = schema["$ref"];
    return schema_faults(root, root.at(json::json_pointer(to.substr(1))), value, place, faults);
  }
  if (schema.contains("const") && value != schema["const"]) faults.push_back(place + " is " + value.dump());
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end()) {
    faults.push_back(place + " is " + value.dump());
  }
  if (schema.contains("type")) {
    json const types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
    bool const fits = std::ranges::any_of(types, [&](json const& type) {
      if (type == "integer") return value.is_number_integer();
      if (type == "number") return value.is_number();
      return type == value.type_name();
    });
    if (!fits) {
      faults.push_back(place + " is of type " + value.type_name());
      return;
    }
  }
  if (schema.contains("minimum") && value.is_number() && value < schema["minimum"]) {
    faults.push_back(place + " is " + value.dump());
  }
  if (value.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      schema_faults(root, schema["items"], value[i], place + "/" + std::to_string(i), faults);
    }
  }
  if (!value.is_object()) return;
  for (json const& name : schema.value("required", json::array())) {
    if (!value.contains(name.get<std::string>())) faults.push_back(place + " has no " + name.get<std::string>());
  }
  json const properties = schema.value("properties", json::object());
  for (auto const& [name, held] : value.items()) {
    std::string const where = place + "/" + name;
    if (properties.contains(name)) {
      schema_faults(root, properties[name], held, where, faults);
    } else if (schema.contains("additionalProperties")) {
      json const& others = schema["additionalProperties"];
      if (others.is_object()) schema_faults(root, others, held, where, faults);
      if (others == false) faults.push_back(where + " is not in the schema");
    }
  }
}

inline std::vector<std::string> schema_faults(nlohmann::json const& schema, nlohmann::json const& value) {
  std::vector<std::string> faults;
  schema_faults(schema, schema, value, "", faults);
  return faults;
}

}  // namespace tessera::testing
