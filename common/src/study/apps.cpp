#include "apps.hpp"

#include <algorithm>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>

namespace tessera::study {

std::vector<App const*> find_apps(std::vector<App> const& apps, std::string const& text, std::string_view who_has) {
  std::vector<App const*> found;
  std::vector<std::string> known;
  for (App const& app : apps) known.emplace_back(app.info.name);
  for (std::string const& name : text == "all" ? known : split_at_commas(text)) {
    auto const at = std::ranges::find(known, name);
    if (at == known.end()) throw UserError(unknown_name("mini-app", name, known, who_has));
    App const* const app = &apps[static_cast<std::size_t>(at - known.begin())];
    if (std::ranges::find(found, app) == found.end()) found.push_back(app);
  }
  return found;
}

model::ModelCase model_case(App const& app, DType dtype, std::size_t size, ParameterMap const& given) {
  model::ModelCase c;
  c.app = app.info.name;
  c.dtype = dtype;
  for (ParameterSpec const& spec : app.parameters) c.parameters[spec.name] = spec.default_value;
  for (auto const& [name, value] : given) c.parameters[name] = value;
  Footprint const footprint = app.footprint_of_size(dtype, size, c.parameters);
  c.work = footprint.work;
  c.output = footprint.output_shapes;
  c.input = app.input_shapes(size, c.parameters);
  c.traffic = app.info.traffic;
  if (app.output_split != nullptr) c.output_split = app.output_split(c.parameters);
  if (app.reach != nullptr) c.reach = app.reach(c.input, c.parameters);
  return c;
}

}  // namespace tessera::study
