#include "arguments.hpp"

#include <algorithm>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>

namespace tessera::study {

bool Reader::next() {
  if (at_ == words_.size()) return false;
  std::string word = words_[at_++];
  option.clear();
  value.clear();
  if (!word.starts_with("-")) {
    value = word;
    return true;
  }
  std::size_t const equals = word.find('=');
  bool const joined = equals != std::string::npos;
  if (joined) {
    value = word.substr(equals + 1);
    word.resize(equals);
  }
  option = word;
  if (std::ranges::find(flags_, word) != flags_.end() && !joined) return true;
  if (std::ranges::find(valued_, word) == valued_.end()) {
    Words known = flags_;
    known.insert(known.end(), valued_.begin(), valued_.end());
    for (std::string& name : known) name = name.substr(2);
    throw UserError(
        "unknown option `" + word + "` (not an option of " + program_ + "); " +
        did_you_mean(word.substr(std::min<std::size_t>(2, word.size())), known, "see " + program_ + " --help", "--"));
  }
  if (!joined) {
    value = second_value();
  }
  return true;
}

std::string Reader::second_value() {
  if (at_ == words_.size()) {
    throw UserError("no value for " + option + " (it needs one); see " + program_ + " --help");
  }
  return words_[at_++];
}

bool asks_for_help(Words const& words) {
  return std::ranges::find(words, "--help") != words.end() || std::ranges::find(words, "-h") != words.end();
}

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
