#include <tessera/cli/options.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/cli/sweeps.hpp>

#include "option_table.hpp"

namespace tessera {

namespace {

using cli::OptionEntry;

// Returns an example of a list of values.
std::string list_example(ParameterSpec const& spec) {
  std::string const option = "--" + spec.name + " ";
  if (spec.minimum > 64 || spec.maximum < 1024) return option + to_string(spec.default_value);
  return option + "64, " + option + "64,256 or " + option + "2^6:2^10";
}

// Checks cases that versions of CLI11 treat differently: an option without a value, which may take the next option as
// its value, and a flag with a value.
void check_values(std::vector<std::string> const& arguments, std::vector<OptionEntry> const& table) {
  auto const is_value = [](std::string const& text) {
    bool const dash = text.size() > 1 && text[0] == '-';
    return !dash || text[1] == '.' || (text[1] >= '0' && text[1] <= '9') || to_number<double>(text);
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::size_t const equals = arguments[i].find('=');
    std::string const name = arguments[i].substr(0, equals);
    auto const entry = std::ranges::find(table, name, &OptionEntry::name);
    if (entry == table.end()) continue;
    if (entry->value.empty()) {
      if (equals != std::string::npos) {
        throw UserError("a value for " + name + " (it is a flag); write " + name + " without a value");
      }
    } else {
      bool const there = equals != std::string::npos ? equals + 1 < arguments[i].size()
                                                     : i + 1 < arguments.size() && is_value(arguments[i + 1]);
      if (!there) throw UserError("no value for " + name + " (it needs one); write " + name + " " + entry->value);
    }
  }
}

[[noreturn]] void unknown_argument(std::string const& argument, Command const& command,
                                   std::vector<OptionEntry> const& table) {
  if (!argument.starts_with('-') || argument == "-") {
    bool const file = argument.ends_with(".h5") || argument.ends_with(".hdf5");
    throw UserError("unexpected argument `" + shortened(argument) + "` (" + command.program +
                    " takes only options here); " +
                    (file ? "did you mean `--input " + argument + "`?" : "see " + command.program + " --help"));
  }
  std::string const name = argument.substr(0, argument.find('='));
  std::vector<std::string> names;
  for (OptionEntry const& entry : table) names.push_back(entry.name.substr(2));
  std::string const bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  throw UserError("unknown option `" + shortened(name) + "` (not an option of " + command.program + "); " +
                  did_you_mean(bare, names, "see " + command.program + " --help", "--"));
}

// CLI11 parses [a,b] as a list. A mark before the bracket prevents this; it is removed afterwards.
constexpr char literal_mark = '\x01';

std::string marked(std::string argument) {
  std::size_t const at = argument.starts_with("--") ? argument.find('=') + 1 : 0;  // 0 also if there is none
  if (at < argument.size() && (argument[at] == '[' || argument[at] == literal_mark)) {
    argument.insert(at, 1, literal_mark);
  }
  return argument;
}

std::string unmarked(std::string argument) {
  std::size_t const at = argument.starts_with("--") ? argument.find('=') + 1 : 0;
  if (at < argument.size() && argument[at] == literal_mark) argument.erase(at, 1);
  return argument;
}

// The result of CLI11: the values of each given option; "true" for a flag.
using Given = std::map<std::string, std::vector<std::string>, std::less<>>;

Given read_arguments(Command const& command, std::vector<std::string> const& arguments,
                     std::vector<OptionEntry> const& table) {
  CLI::App parser;
  parser.set_help_flag("");
  parser.allow_extras();
  std::map<std::string, CLI::Option*> options;
  for (OptionEntry const& entry : table) {
    std::string const names = entry.alias.empty() ? entry.name : entry.alias + "," + entry.name;
    // Values as text, and as many as there are, with our own checks, so that all messages are alike and independent of
    // CLI11's version.
    options[entry.name] = entry.value.empty() ? parser.add_flag(names)->disable_flag_override()
                                              : parser.add_option(names)
                                                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                                                    ->expected(1, entry.many ? 1 << 20 : 1)
                                                    ->allow_extra_args();
  }
  check_values(arguments, table);
  std::vector<std::string> reversed;  // the order that CLI11 requires
  std::transform(arguments.rbegin(), arguments.rend(), std::back_inserter(reversed), marked);
  try {
    parser.parse(reversed);
  } catch (CLI::ParseError const& error) {
    throw UserError(concat("bad command line (", error.what(), "); see ", command.program, " --help"));
  }
  std::vector<std::string> remaining = parser.remaining();
  std::ranges::transform(remaining, remaining.begin(), unmarked);
  for (std::string const& argument : remaining) {
    if (argument.starts_with('-')) unknown_argument(argument, command, table);
  }
  if (!remaining.empty()) unknown_argument(remaining.front(), command, table);

  Given given;
  for (OptionEntry const& entry : table) {
    CLI::Option const& option = *options[entry.name];
    if (option.count() == 0) continue;
    if (entry.value.empty()) {
      given[entry.name] = {"true"};
    } else if (option.count() == 1 || entry.many) {
      std::ranges::transform(option.results(), std::back_inserter(given[entry.name]), unmarked);
    } else {
      throw UserError(concat(entry.name, " given ", option.count(), " times (one value is used); give it once"));
    }
  }
  return given;
}

void refuse_both(Given const& given, std::string const& first, std::string const& second, std::string const& why) {
  if (given.contains(first) && given.contains(second)) {
    throw UserError("conflicting options " + first + " and " + second + " (" + why + "); leave out one of them");
  }
}

void refuse_conflicts(Command const& command, Given const& given) {
  for (std::string const file : {"--input", "--inputs"}) {
    if (given.contains("--size") || given.contains("--size-per-rank")) break;
    for (std::string const generated : {"--seed", "--data"}) {
      refuse_both(given, file, generated, "without --size only the files are read, and nothing is generated");
    }
  }
  refuse_both(given, "--input", "--inputs", "both say what to read");
  refuse_both(given, "--machine", "--save-machine", "--machine replaces the measurement that --save-machine writes");
  refuse_both(given, "--energy", "--cold", "evicting the caches would take most of the energy");
  refuse_both(given, "--lines", "--digest", "each replaces the tables");
  refuse_both(given, "--machine", "--roof", "both give the roofs");
  refuse_both(given, "--save-machine", "--roof", "with --roof no roofs are measured");
  refuse_both(given, "--size", "--size-per-rank", "--size is the total of all ranks");
  for (std::string const other : {"--size", "--size-per-rank", "--input", "--inputs"}) {
    refuse_both(given, "--sweep", other, "both say what to run on");
  }
  if (command.apps.size() != 1) return;
  for (ParameterSpec const& spec : command.apps.front()->parameters) {
    refuse_both(given, "--" + spec.name, "--no-" + spec.name, "they say the opposite");
  }
}

// --raw runs no row, so only options that choose the words make sense beside it.
void check_raw(Command const& command, Given const& given, Options const& options) {
  for (auto const& [name, values] : given) {
    auto const is_own = [&](ParameterSpec const& spec) {
      return spec.given_by == GivenBy::option && "--" + spec.name == name;
    };
    if (name == "--raw" || name == "--size" || name == "--seed") continue;
    if (std::ranges::any_of(command.apps.front()->parameters, is_own)) continue;
    throw UserError("conflicting options: --raw with " + name + " (nothing runs; only bytes are written); leave out " +
                    name);
  }
  if (options.sizes.size() > 1) {
    throw UserError("conflicting options: --raw with several sizes (it writes one stream); give one size");
  }
}

// Expands the sweep: each of its cases with every combination of the other options' values.
void expand_sweep(Command const& command, Given const& given, Options& options) {
  std::vector<Sweep> const known = sweeps_of(command.apps.front()->info.name);
  std::vector<ParameterMap> const others = std::exchange(options.parameters, {});
  options.sizes.clear();
  for (SweepCase const& one : std::ranges::find(known, options.sweep, &Sweep::name)->cases) {
    for (auto const& [parameter, value] : one.parameters) {
      refuse_both(given, "--sweep", "--" + parameter, "the sweep has its own");
    }
    for (ParameterMap const& combination : others) {
      options.sizes.push_back(one.size);
      options.parameters.push_back(combination);
      options.parameters.back().insert(one.parameters.begin(), one.parameters.end());
    }
  }
}

}  // namespace

bool Selection::has(std::string_view name) const { return all() || std::ranges::find(names, name) != names.end(); }

Roofs parse_roof(std::string const& option, std::string const& text) {
  std::vector<double> numbers;
  for (std::string const& word : split_at_commas(text)) {
    auto const value = to_number<double>(word);
    if (!value || !std::isfinite(*value) || *value <= 0) {
      bad_value(option, text, "`" + shortened(word) + "` is not a positive number",
                "write for example " + option + " 19.5e12,1555e9");
    }
    numbers.push_back(*value);
  }
  if (numbers.size() != 2) {
    bad_value(option, text, std::to_string(numbers.size()) + " numbers, not two",
              "write for example " + option + " 19.5e12,1555e9");
  }
  Roofs roofs;
  roofs.peak_operations_per_second.fill(numbers[0]);
  roofs.copy_bytes_per_second = roofs.triad_bytes_per_second = roofs.read_bytes_per_second = numbers[1];
  return roofs;
}

std::string to_string(ParameterValue const& value) {
  if (auto const* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (auto const* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (auto const* real = std::get_if<double>(&value)) return shortest_text(*real);
  return std::get<std::string>(value);
}

void check_parameter(ParameterSpec const& spec, ParameterValue const& value, std::string const& problem) {
  auto const fail = [&](std::string const& why, std::string const& what_to_do) {
    throw UserError(problem + " (" + why + "); " + what_to_do);
  };
  if (value.index() != spec.default_value.index()) {
    fail("another type than the default " + to_string(spec.default_value), "give a value like the default");
  }
  if (auto const* text = std::get_if<std::string>(&value)) {
    if (spec.choices.empty() || std::ranges::find(spec.choices, *text) != spec.choices.end()) return;
    fail("it may be " + join(spec.choices), did_you_mean(*text, spec.choices, "choose one of them"));
  }
  if (std::holds_alternative<bool>(value)) return;
  double const x = std::holds_alternative<double>(value) ? std::get<double>(value)
                                                         : static_cast<double>(std::get<std::int64_t>(value));
  if (spec.must_be_finite && !std::isfinite(x)) fail("not finite", "give a finite number");
  std::string const range = std::isfinite(spec.minimum) && std::isfinite(spec.maximum)
                                ? "; it may be " + shortest_text(spec.minimum) + " to " + shortest_text(spec.maximum)
                                : std::string();
  // A NaN, if it is allowed, passes these comparisons: no range excludes it.
  if (x < spec.minimum) fail("less than " + shortest_text(spec.minimum) + range, "give a larger value");
  if (x > spec.maximum) fail("more than " + shortest_text(spec.maximum) + range, "give a smaller value");
}

std::vector<ParameterValue> parse_parameter(ParameterSpec const& spec, std::string const& text) {
  std::string const option = "--" + spec.name;
  auto const checked = [&](ParameterValue const& value) {
    check_parameter(spec, value, "bad value `" + shortened(to_string(value)) + "` for " + option);
    return value;
  };
  std::string const example = option + " " + to_string(spec.default_value);
  if (spec.sweep) {
    std::vector<ParameterValue> values;
    for (std::size_t const size : parse_sizes(text, spec.name, list_example(spec))) {
      values.push_back(checked(static_cast<std::int64_t>(size)));
    }
    return values;
  }
  ParameterValue value = text;
  if (std::holds_alternative<std::int64_t>(spec.default_value)) {
    auto whole = to_number<std::int64_t>(text);
    if (auto const size = one_size(text); !whole && size) whole = static_cast<std::int64_t>(*size);  // 64k, 2^16, 1e6
    if (!whole) bad_value(option, text, "not a whole number of 64 bits", "write for example " + example);
    value = *whole;
  } else if (std::holds_alternative<double>(spec.default_value)) {
    auto const real = to_number<double>(text);
    if (!real) bad_value(option, text, "not a number in double's range", "write for example " + example);
    value = *real;
  } else if (std::holds_alternative<bool>(spec.default_value)) {
    if (text != "true" && text != "false") bad_value(option, text, "not true or false", "write for example " + example);
    value = text == "true";
  }
  return {checked(value)};
}

Options parse_options(Command const& command, std::vector<std::string> const& arguments) {
  Options options;
  std::vector<std::string> ours;
  for (std::string const& argument : arguments) {
    if (argument == "--help" || argument == "-h") options.help = true;
    if (argument == "--version") options.version = true;
    (argument.starts_with("--kokkos-") ? options.kokkos_arguments : ours).push_back(argument);
  }
  if (options.help || options.version) return options;

  std::vector<OptionEntry> const table = cli::option_table(command, options);
  Given const given = read_arguments(command, ours, table);
  options.given = given;
  if (given.contains("--list")) {
    options.list = true;
    return options;
  }
  refuse_conflicts(command, given);
  for (OptionEntry const& entry : table) {
    auto const values = given.find(entry.name);
    if (values == given.end()) continue;
    for (std::string const& text : values->second) entry.set(entry.name, text);
  }
  if (options.raw) {
    check_raw(command, given, options);
    return options;
  }
  if (options.sizes.empty() && !options.from_files()) options.sizes = {default_size};
  if (!options.sweep.empty()) expand_sweep(command, given, options);
  if (options.sampling.max_time < options.sampling.min_time && given.contains("--max-time")) {
    bad_value("--max-time", given.at("--max-time").front(), "less than --min-time",
              "choose a longer one, or a shorter --min-time");
  }
  options.verify.seed = options.seed;
  return options;
}

}  // namespace tessera
