#include <tessera/study/study.hpp>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/core/types.hpp>

namespace tessera::study {

namespace {

using Words = std::vector<std::string>;

constexpr char const* schema = "tessera-study/1";
constexpr std::size_t most_steps = 100000;
constexpr std::size_t most_letters = 100;  // of a step's name: file names have at most 255

[[noreturn]] void bad(std::string const& where, std::string const& text, std::string const& why) {
  bad_value(where, text, why, "see tessera study --help");
}

std::size_t whole_number(std::string const& text, std::string const& where, std::size_t most) {
  auto const value = to_number<std::size_t>(text);
  if (!value || *value < 1 || *value > most) bad(where, text, "not a whole number from 1 to " + std::to_string(most));
  return *value;
}

// Checks names, or names joined with `+`.
Words entries(Words const& texts, std::string const& where) {
  for (std::string const& text : texts) {
    bool const plain = std::ranges::all_of(
        text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+'; });
    if (!plain || text.empty() || text.front() == '+' || text.back() == '+' || text.find("++") != std::string::npos) {
      bad(where, text, "names are letters, digits and _, joined with +");
    }
  }
  return texts;
}

// The keys that set() and a study file accept.
Words const& keys() {
  static Words const all{"name",   "apps",   "sizes",   "sizes_per_rank", "ranks",   "variants",
                         "spaces", "dtypes", "repeats", "options",        "launcher"};
  return all;
}

void set_entries(Study& study, std::string_view key, Words const& texts, std::string const& where) {
  if (texts.empty()) throw UserError("nothing in " + where + " (it is an empty list); leave it out, or name something");
  auto const one = [&] {
    if (texts.size() != 1)
      throw UserError(concat(where, " has ", texts.size(), " values (it takes one); name one of them"));
    return texts.front();
  };
  static std::map<std::string_view, Words Study::*> const lists{
      {"apps", &Study::apps}, {"variants", &Study::variants}, {"spaces", &Study::spaces}, {"dtypes", &Study::dtypes}};
  if (auto const list = lists.find(key); list != lists.end()) {
    study.*(list->second) = entries(texts, where);
  } else if (key == "sizes" || key == "sizes_per_rank") {
    study.sizes.clear();
    study.sizes_per_rank = key == "sizes_per_rank";
    for (std::string const& text : texts) {
      try {
        std::ranges::copy(parse_sizes(text), std::back_inserter(study.sizes));
      } catch (UserError const&) {
        bad(where, text, "no size: digits, k, M, G, 2^n or 1e6 up to 2^63 - 1, or A:B, which doubles");
      }
    }
  } else if (key == "ranks") {
    study.ranks.clear();
    for (std::string const& text : texts) study.ranks.push_back(whole_number(text, where, 10000000));
  } else if (key == "repeats") {
    study.repeats = whole_number(one(), where, 1000);
  } else if (key == "launcher") {
    study.launcher = one();
    (void)split_words(study.launcher, where);
  } else if (key == "options") {
    study.options = texts;
    for (std::string const& word : texts) {
      for (std::string const taken :
           {"--json", "--csv", "--output", "--size", "--size-per-rank", "--variant", "--level", "--space", "--dtype",
            "--save-machine", "--log", "--sweep", "--input", "--inputs"}) {
        if (word == taken || word.starts_with(taken + "=")) {
          bad(where, word, "the study sets it, or all launches would write to one file");
        }
      }
    }
  } else if (key == "name") {
    study.name = entries({one()}, where).front();
  } else {
    check_name("key", key, keys());
  }
}

std::string joined_with(std::string text, char letter) {
  std::ranges::replace(text, '+', letter);
  return text;
}

// Returns "2p24", "1000", for the names of files.
std::string short_size(std::size_t size) {
  std::string text = size_text(size);
  std::ranges::replace(text, '^', 'p');
  return text;
}

// Returns "dot", "dot+3": if there are many names, the first one and the number of further names.
std::string short_entry(std::string const& entry) {
  if (entry.size() <= 24) return entry;
  return concat(entry.substr(0, entry.find('+')), "+", std::ranges::count(entry, '+'));
}

Words launcher_of(Study const& study, std::size_t ranks) {
  if (study.launcher.empty() && ranks == 1) return {};
  Words words = split_words(study.launcher.empty() ? "mpirun -n {ranks}" : study.launcher, "launcher");
  for (std::string& word : words) {
    for (std::size_t at = 0; (at = word.find("{ranks}", at)) != std::string::npos;) {
      word.replace(at, 7, std::to_string(ranks));
    }
  }
  return words;
}

// Returns the list; a list that was not given becomes one empty entry.
Words or_unsaid(Words const& list) { return list.empty() ? Words{""} : list; }

}  // namespace

std::vector<Preset> const& presets() {
  std::size_t const one = 1;
  Words const of_ranks{"dot", "prefix_sum", "conv2d", "transpose"};
  static std::vector<Preset> const all{
      {"map, dot and prefix_sum on 2^16, 2^20 and 2^22 elements: takes about a minute",
       {.name = "quick",
        .apps = {"map+dot+prefix_sum"},
        .sizes = {one << 16, one << 20, one << 22},
        .options = {"--max-time", "0.1"}}},
      {"2^26 elements on 1, 2 and 4 ranks: dot, prefix_sum, conv2d and transpose",
       {.name = "strong", .apps = of_ranks, .sizes = {one << 26}, .ranks = {1, 2, 4}, .variants = {"distributed"}}},
      {"2^24 elements per rank on 1, 2 and 4 ranks: the mini-apps of strong",
       {.name = "weak",
        .apps = of_ranks,
        .sizes = {one << 24},
        .sizes_per_rank = true,
        .ranks = {1, 2, 4},
        .variants = {"distributed"}}},
      {"map, dot, prefix_sum and softmax from 2^16 to 2^28 elements, all variants",
       {.name = "sizes",
        .apps = {"map", "dot", "prefix_sum", "softmax"},
        .sizes = {one << 16, one << 20, one << 24, one << 28}}},
      {"all variants of every mini-app on 2^24 elements", {.name = "variants"}}};
  return all;
}

Study preset(std::string const& name) {
  Words names;
  for (Preset const& known : presets()) names.push_back(known.study.name);
  check_name("preset", name, names);
  return std::ranges::find(presets(), name, [](Preset const& known) { return known.study.name; })->study;
}

void set(Study& study, std::string_view key, std::string const& text, std::string const& where) {
  if (key == "launcher") return set_entries(study, key, {text}, where);
  if (key == "options") return set_entries(study, key, split_words(text, where), where);
  set_entries(study, key, split_at_commas(text), where);
}

Study parse_study(std::string const& text, std::string const& path) {
  using Json = nlohmann::ordered_json;
  auto const refuse = [&](std::string const& why) {
    throw UserError("cannot use the study " + path + " (" + why + "); tessera study --help has an example");
  };
  Json json;
  try {
    json = Json::parse(text);
  } catch (Json::parse_error const& error) {
    refuse("it is not JSON, see byte " + std::to_string(error.byte));
  }
  if (!json.is_object()) refuse("it is not a JSON object");
  if (!json.contains("schema") || json["schema"] != schema) refuse("its schema is not " + std::string(schema));
  Study study;
  if (json.contains("sizes") && json.contains("sizes_per_rank")) refuse("it has both sizes and sizes_per_rank");
  for (auto const& [key, value] : json.items()) {
    if (key == "schema") continue;
    if (std::ranges::find(keys(), key) == keys().end()) refuse(unknown_name("key", key, keys()));
    std::string const where = key + " in " + path;
    auto const text_of = [&](Json const& one) {
      if (one.is_string()) return one.get<std::string>();
      if (one.is_number_integer()) return one.dump();
      throw UserError("bad value `" + one.dump() + "` for " + where +
                      " (neither a text nor a whole number); write one of these");
    };
    if (value.is_array()) {
      Words words;
      for (Json const& one : value) words.push_back(text_of(one));
      set_entries(study, key, words, where);
    } else {
      set(study, key, text_of(value), where);
    }
  }
  if (study.name.empty()) refuse("it has no name");
  return study;
}

std::vector<Step> steps_of(Study const& study) {
  double const count =
      static_cast<double>(study.apps.size() * study.sizes.size() * study.ranks.size() * study.repeats) *
      static_cast<double>(or_unsaid(study.variants).size() * or_unsaid(study.spaces).size() *
                          or_unsaid(study.dtypes).size());
  if (count > static_cast<double>(most_steps)) {
    throw UserError(concat("the study has ", static_cast<std::size_t>(count), " launches (at most ", most_steps,
                           "); join names with +, or split the study"));
  }
  std::vector<Step> once;
  for (std::string const& app : study.apps) {
    for (std::size_t const size : study.sizes) {
      for (std::size_t const ranks : study.ranks) {
        if (study.sizes_per_rank && size > std::numeric_limits<std::int64_t>::max() / ranks) {
          throw UserError(concat("size ", size, " on each of ", ranks,
                                 " ranks (together more than 2^63 - 1 elements); choose a smaller size"));
        }
        for (std::string const& variant : or_unsaid(study.variants)) {
          for (std::string const& space : or_unsaid(study.spaces)) {
            for (std::string const& dtype : or_unsaid(study.dtypes)) {
              Step step;
              step.ranks = ranks;
              step.launcher = launcher_of(study, ranks);
              step.apps = joined_with(app, ',');
              step.name =
                  concat(short_entry(app), "-", short_size(size), study.sizes_per_rank ? "-each" : "", "-r", ranks);
              step.arguments = {study.sizes_per_rank ? "--size-per-rank" : "--size", size_text(size)};
              for (auto const& [option, entry] : {std::pair<std::string, std::string const&>{"--variant", variant},
                                                  {"--space", space},
                                                  {"--dtype", dtype}}) {
                if (entry.empty()) continue;
                step.name += "-" + short_entry(entry);
                step.arguments.insert(step.arguments.end(), {option, joined_with(entry, ',')});
              }
              step.arguments.insert(step.arguments.end(), study.options.begin(), study.options.end());
              if (step.name.size() > most_letters) step.name.resize(most_letters);
              once.push_back(std::move(step));
            }
          }
        }
      }
    }
  }
  std::set<std::string> names;
  for (Step const& step : once) {
    if (!names.insert(step.name).second) {
      throw UserError("two steps of the study have the name " + step.name +
                      " (an entry is repeated, or long entries begin alike); split the study");
    }
  }
  std::vector<Step> steps;
  for (std::size_t repeat = 1; repeat <= study.repeats; ++repeat) {
    for (Step step : once) {
      step.repeat = repeat;
      step.name += "-" + std::to_string(repeat);
      steps.push_back(std::move(step));
    }
    std::ranges::reverse(once);
  }
  return steps;
}

std::vector<std::string> split_words(std::string_view text, std::string const& where) {
  Words words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const letter = text[i];
    if (quote != 0 && letter == quote) {
      quote = 0;
    } else if (quote == 0 && (letter == '\'' || letter == '"')) {
      quote = letter;
      inside = true;
    } else if (letter == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (quote == 0 && std::isspace(static_cast<unsigned char>(letter)) != 0) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += letter;
      inside = true;
    }
  }
  if (quote != 0) bad(where, std::string(text), concat("a quote ", quote, " is not closed"));
  if (inside) words.push_back(word);
  return words;
}

}  // namespace tessera::study
