#include "arguments.hpp"

#include <algorithm>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>

namespace tessera::study {

namespace {

// Returns the names of a row: of "--apps, --sizes" two.
Words names_of(OptionEntry const& option) {
  Words names = split_at_commas(option.name);
  for (std::string& name : names) name.erase(0, name.find('-'));
  return names;
}

}  // namespace

std::string options_text(std::vector<OptionEntry> const& table, std::size_t column) {
  std::string text;
  for (OptionEntry const& option : table) {
    if (option.help.empty()) continue;
    std::string const head = "  " + option.name + " " + option.value;
    text += head.size() + 2 > column ? head + "\n" + padded("", column) : padded(head, column);
    text += option.help + "\n";
  }
  return text;
}

void parse_words(Words const& words, std::string const& program, std::vector<OptionEntry> const& table,
                 std::function<void(std::string const&)> const& set_word) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (!word->starts_with("-")) {
      set_word(*word);
      continue;
    }
    std::size_t const equals = word->find('=');
    std::string const name = word->substr(0, equals);
    auto const option = std::ranges::find_if(
        table, [&](OptionEntry const& one) { return std::ranges::count(names_of(one), name) > 0; });
    if (option == table.end() || (option->value.empty() && equals != std::string::npos)) {
      Words known;
      for (OptionEntry const& one : table) {
        for (std::string const& other : names_of(one)) known.push_back(other.substr(2));
      }
      throw UserError(
          "unknown option `" + name + "` (not an option of " + program + "); " +
          did_you_mean(name.substr(std::min<std::size_t>(2, name.size())), known, "see " + program + " --help", "--"));
    }
    auto const next = [&] {
      if (++word == words.end()) {
        throw UserError("no value for " + name + " (it needs one); see " + program + " --help");
      }
      return *word;
    };
    std::string const value = option->value.empty()         ? ""
                              : equals != std::string::npos ? word->substr(equals + 1)
                                                            : next();
    option->set(name, value);
    if (option->set_second) option->set_second(name, next());
  }
}

bool asks_for_help(Words const& words) {
  return std::ranges::find(words, "--help") != words.end() || std::ranges::find(words, "-h") != words.end();
}

std::vector<App const*> find_apps(std::vector<App> const& apps, std::string const& text, std::string_view who_has) {
  std::vector<App const*> found;
  std::vector<std::string> known;
  for (App const& app : apps) known.emplace_back(app.info.name);
  for (std::string const& name : text == "all" ? known : split_at_commas(text)) {
    check_name("mini-app", name, known, who_has);
    App const* const app = &*std::ranges::find(apps, name, [](App const& one) { return one.info.name; });
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
  for (FieldSpec const& field : app.input_fields(dtype)) c.input_dtypes.push_back(field.dtype);
  c.traffic = app.info.traffic;
  if (app.output_split != nullptr) c.output_split = app.output_split(c.parameters);
  if (app.reach != nullptr) c.reach = app.reach(c.input, c.parameters);
  return c;
}

}  // namespace tessera::study
