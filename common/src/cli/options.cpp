#include <tessera/cli/options.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/cli/sweeps.hpp>
#include <tessera/table/runtime.hpp>

#include "option_table.hpp"

namespace tessera {

namespace {

using cli::OptionEntry;

// Returns the whole `text` as a number, or nothing.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void bad_value(std::string const& option, std::string const& text, std::string const& why,
                            std::string const& what_to_do) {
  throw UserError("bad value `" + shortened(text) + "` for " + option + " (" + why + "); " + what_to_do);
}

std::size_t count_value(std::string const& option, std::string const& text, std::size_t least,
                        std::string const& example) {
  auto const value = one_size(text);
  std::size_t const most = 1'000'000'000;
  if (!value || *value < least || *value > most) {
    bad_value(option, text, "not a whole number from " + std::to_string(least) + " to " + std::to_string(most),
              "write for example " + example);
  }
  return *value;
}

VerifyOptions verify_value(std::string const& text) {
  using Kind = VerifyOptions::Kind;
  if (text == "every") return {.kind = Kind::every};
  if (text == "first") return {.kind = Kind::first};
  std::string const sample = "sample:";
  if (!text.starts_with(sample)) {
    bad_value("--verify", text, "not every, first or sample:N", "write for example --verify sample:100000");
  }
  return {.kind = Kind::sample,
          .elements = count_value("--verify sample:", text.substr(sample.size()), 1, "--verify sample:100000")};
}

// Returns an example of a list of values.
std::string list_example(ParameterSpec const& spec) {
  std::string const option = "--" + spec.name + " ";
  if (spec.minimum > 64 || spec.maximum < 1024) return option + to_string(spec.default_value);
  return option + "64, " + option + "64,256 or " + option + "2^6:2^10";
}

Selection selection(std::string const& kind, std::string const& text, std::vector<std::string> const& names,
                    std::string const& who_has) {
  Selection result{.given = true, .names = {}};
  if (text == "all") return result;
  for (std::string const& name : split_at_commas(text)) {
    if (name.empty()) bad_value("--" + kind, text, "an empty name", "write names with single commas between them");
    if (name == "all") bad_value("--" + kind, text, "`all` and other names", "write `all` alone, or only names");
    if (std::ranges::find(names, name) == names.end()) throw UserError(unknown_name(kind, name, names, who_has));
    result.names.push_back(name);
  }
  return result;
}

// Throws for a dtype that Tessera supports but this build lacks; the message says how to get it.
void needs_built_dtypes(std::string const& text) {
  std::vector<std::string> const here = enabled_dtypes();
  for (std::string const& name : split_at_commas(text)) {
    if (!dtype_from_name(name) || std::ranges::find(here, name) != here.end()) continue;
    throw UserError("dtype `" + name + "` is not in this build (it has " + join(here) +
                    "); choose one of these, or build with it: -D TESSERA_DTYPES=\"" + join(here, ";") + ";" + name +
                    "\"");
  }
}

std::vector<std::string> variant_names(Command const& command) {
  std::vector<std::string> names;
  for (App const* app : command.apps) {
    for (VariantInfo const& variant : app->variants) {
      std::string const name(variant.name);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> level_names() {
  std::vector<std::string> names;
  for (Level const level : all_levels) names.emplace_back(name_of(level));
  return names;
}

// Checks cases that versions of CLI11 treat differently: an option without a value, which may take the next option as
// its value, and a flag with a value.
void check_values(std::vector<std::string> const& arguments, std::vector<OptionEntry> const& table) {
  auto const is_value = [](std::string const& text) {
    bool const dash = text.size() > 1 && text[0] == '-';
    return !dash || text[1] == '.' || (text[1] >= '0' && text[1] <= '9') || number<double>(text);
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::size_t const equals = arguments[i].find('=');
    std::string const name = arguments[i].substr(0, equals);
    auto const entry = std::ranges::find(table, name, &OptionEntry::name);
    if (entry == table.end()) continue;
    if (entry->value.empty()) {
      if (equals != std::string::npos) {
        throw UserError("a value for " + name + " (it is a flag); write " + name + " alone");
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
  Given given;
  for (OptionEntry const& entry : table) {
    std::string const names = entry.alias.empty() ? entry.name : entry.alias + "," + entry.name;
    if (entry.value.empty()) {
      options[entry.name] = parser.add_flag(names)->disable_flag_override();
    } else {
      // As text, with our own checks, so that all messages are alike and independent of CLI11's version.
      CLI::Option* const option = parser.add_option(names, given[entry.name]);
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->expected(1, entry.many ? 1 << 20 : 1);
      options[entry.name] = option;
    }
  }
  check_values(arguments, table);
  std::vector<std::string> reversed;  // the order that CLI11 requires
  std::transform(arguments.rbegin(), arguments.rend(), std::back_inserter(reversed), marked);
  try {
    parser.parse(reversed);
  } catch (CLI::ParseError const& error) {
    throw UserError("bad command line (" + std::string(error.what()) + "); see " + command.program + " --help");
  }
  for (auto& [name, values] : given) std::ranges::transform(values, values.begin(), unmarked);
  std::vector<std::string> remaining = parser.remaining();
  std::ranges::transform(remaining, remaining.begin(), unmarked);
  for (std::string const& argument : remaining) {
    if (argument.starts_with('-')) unknown_argument(argument, command, table);
  }
  if (!remaining.empty()) unknown_argument(remaining.front(), command, table);

  for (OptionEntry const& entry : table) {
    std::size_t const count = options[entry.name]->count();
    if (count == 0) {
      given.erase(entry.name);
    } else if (entry.value.empty()) {
      given[entry.name] = {"true"};
    } else if (!entry.many && given[entry.name].size() > 1) {
      throw UserError(entry.name + " given " + std::to_string(count) + " times (one value is used); give it once");
    }
  }
  return given;
}

void refuse_both(Given const& given, std::string const& first, std::string const& second, std::string const& why) {
  if (given.contains(first) && given.contains(second)) {
    throw UserError("conflicting options " + first + " and " + second + " (" + why + "); leave out one of them");
  }
}

std::vector<ParameterMap> read_parameters(Command const& command, Given const& given) {
  std::vector<ParameterMap> combinations(1);
  if (command.apps.size() != 1) return combinations;
  // With several options, the values of the first one change slowest.
  auto const combine = [&](std::string const& name, std::vector<ParameterValue> const& values) {
    std::vector<ParameterMap> more;
    for (ParameterMap const& known : combinations) {
      for (ParameterValue const& value : values) {
        more.push_back(known);
        more.back()[name] = value;
      }
    }
    combinations = std::move(more);
  };
  for (ParameterSpec const& spec : command.apps.front()->parameters) {
    std::string const option = "--" + spec.name;
    if (std::holds_alternative<bool>(spec.default_value)) {
      refuse_both(given, option, "--no-" + spec.name, "they say the opposite");
      if (given.contains(option)) combine(spec.name, {true});
      if (given.contains("--no-" + spec.name)) combine(spec.name, {false});
    } else if (auto const found = given.find(option); found != given.end()) {
      combine(spec.name, parse_parameter(spec, found->second.front()));
    }
  }
  return combinations;
}

// Reads the sizes and parameters of --sweep: each case with every combination of the other options' values.
void read_sweep(Command const& command, Given const& given, Options& options) {
  std::vector<Sweep> const known = sweeps_of(command.apps.front()->info.name);
  std::vector<std::string> names;
  for (Sweep const& sweep : known) names.emplace_back(sweep.name);
  std::string const& name = given.at("--sweep").front();
  auto const at = std::ranges::find(names, name);
  if (at == names.end()) throw UserError(unknown_name("sweep", name, names));
  for (std::string const other : {"--size", "--size-per-rank", "--input", "--inputs"}) {
    refuse_both(given, "--sweep", other, "both say what to run on");
  }
  options.sweep = name;
  options.sizes.clear();
  std::vector<ParameterMap> const others = std::move(options.parameters);
  options.parameters.clear();
  for (SweepCase const& one : known[static_cast<std::size_t>(at - names.begin())].cases) {
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

DataKind data_value(Command const& command, std::string const& text) {
  std::vector<std::string> names;
  for (DataKind const kind : data_kinds) {
    bool const there = std::ranges::any_of(command.apps, [&](App const* app) { return app->has(kind); });
    if (there) names.emplace_back(name_of(kind));
    if (there && text == name_of(kind)) return kind;
  }
  bool const known = std::ranges::any_of(data_kinds, [&](DataKind kind) { return text == name_of(kind); });
  if (known) {
    throw UserError("no " + text + " data (" + command.program + " has " + join(names) +
                    "; see its README); choose one of these");
  }
  throw UserError(unknown_name("kind of data", text, names, "there are"));
}

}  // namespace

bool Selection::has(std::string_view name) const { return all() || std::ranges::find(names, name) != names.end(); }

Roofs parse_roof(std::string const& option, std::string const& text) {
  std::vector<double> numbers;
  for (std::string const& word : split_at_commas(text)) {
    auto const value = number<double>(word);
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
    auto whole = number<std::int64_t>(text);
    if (auto const size = one_size(text); !whole && size) whole = static_cast<std::int64_t>(*size);  // 64k, 2^16, 1e6
    if (!whole) bad_value(option, text, "not a whole number of 64 bits", "write for example " + example);
    value = *whole;
  } else if (std::holds_alternative<double>(spec.default_value)) {
    auto const real = number<double>(text);
    if (!real) bad_value(option, text, "not a number in double's range", "write for example " + example);
    value = *real;
  } else if (std::holds_alternative<bool>(spec.default_value)) {
    if (text != "true" && text != "false") bad_value(option, text, "not true or false", "write for example " + example);
    value = text == "true";
  }
  return {checked(value)};
}

Options parse_options(App const& app, int argc, char const* const* argv) {
  return parse_options(Command{.program = std::string(app.info.name), .apps = {&app}},
                       std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
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

  std::vector<OptionEntry> const table = cli::option_table(command);
  Given const given = read_arguments(command, ours, table);
  options.given = given;
  if (given.contains("--list")) {
    options.list = true;
    return options;
  }
  auto const text = [&](std::string const& name) { return given.at(name).front(); };

  for (std::string const file : {"--input", "--inputs"}) {
    if (!given.contains("--size") && !given.contains("--size-per-rank")) {
      refuse_both(given, file, "--seed", "without --size only the files are read, and nothing is generated");
      refuse_both(given, file, "--data", "without --size only the files are read, and nothing is generated");
    }
  }
  refuse_both(given, "--input", "--inputs", "both say what to read");
  for (std::string const name :
       {"--input", "--inputs", "--output", "--json", "--csv", "--log", "--machine", "--save-machine", "--baseline"}) {
    if (given.contains(name) && std::ranges::count(given.at(name), std::string{}) > 0) {
      bad_value(name, "", "an empty path", "write a path");
    }
  }
  if (given.contains("--input")) options.inputs = given.at("--input");
  for (auto const& [option, path] :
       {std::pair{"--inputs", &options.inputs_directory}, std::pair{"--output", &options.output},
        std::pair{"--json", &options.json}, std::pair{"--csv", &options.csv}, std::pair{"--log", &options.log},
        std::pair{"--machine", &options.machine}, std::pair{"--save-machine", &options.save_machine},
        std::pair{"--baseline", &options.baseline}}) {
    if (given.contains(option)) *path = text(option);
  }
  options.spread = given.contains("--spread");
  options.digest = given.contains("--digest");
  refuse_both(given, "--machine", "--save-machine", "--machine replaces the measurement that --save-machine writes");
  refuse_both(given, "--lines", "--digest", "each replaces the tables");
  options.lines = given.contains("--lines");
  refuse_both(given, "--machine", "--roof", "both give the roofs");
  refuse_both(given, "--save-machine", "--roof", "with --roof no roofs are measured");
  if (given.contains("--roof")) {
    options.roof = text("--roof");
    options.given_roofs = parse_roof("--roof", options.roof);
  }

  refuse_both(given, "--size", "--size-per-rank", "--size is the total of all ranks");
  if (given.contains("--size")) {
    options.sizes = parse_sizes(text("--size"));
  } else if (given.contains("--size-per-rank")) {
    options.sizes = parse_sizes(text("--size-per-rank"), "size-per-rank",
                                "--size-per-rank 1e6, --size-per-rank 1k,1M or --size-per-rank 2^20:2^26");
    options.sizes_per_rank = true;
  } else if (!options.from_files()) {
    options.sizes = {default_size};
  }
  if (given.contains("--seed")) {
    auto const seed = number<std::uint64_t>(text("--seed"));
    if (!seed)
      bad_value("--seed", text("--seed"), "not a whole number from 0 to 2^64-1", "write for example --seed 42");
    options.seed = *seed;
  }
  if (given.contains("--data")) options.data = data_value(command, text("--data"));
  options.parameters = read_parameters(command, given);
  if (given.contains("--sweep")) read_sweep(command, given, options);

  if (given.contains("--variant")) {
    options.variants = selection("variant", text("--variant"), variant_names(command), "there are");
  }
  if (given.contains("--level")) options.levels = selection("level", text("--level"), level_names(), "there are");
  std::string const here = "this build has";
  if (given.contains("--space")) options.spaces = selection("space", text("--space"), enabled_spaces(), here);
  if (given.contains("--dtype")) {
    needs_built_dtypes(text("--dtype"));
    options.dtypes = selection("dtype", text("--dtype"), enabled_dtypes(), here);
  }

  if (given.contains("--warmup")) options.sampling.warmup = count_value("--warmup", text("--warmup"), 0, "--warmup 3");
  if (given.contains("--samples"))
    options.sampling.samples = count_value("--samples", text("--samples"), 1, "--samples 20");
  for (auto const& [option, value] :
       {std::pair{"--min-time", &options.sampling.min_time}, std::pair{"--max-time", &options.sampling.max_time}}) {
    if (!given.contains(option)) continue;
    auto const seconds = number<double>(text(option));
    if (!seconds || !(*seconds >= 0 && *seconds <= 86400)) {
      bad_value(option, text(option), "not a number of seconds from 0 to 86400",
                "write for example " + std::string(option) + " 0.5");
    }
    *value = *seconds;
  }
  if (options.sampling.max_time < options.sampling.min_time && given.contains("--max-time")) {
    bad_value("--max-time", text("--max-time"), "less than --min-time", "choose a longer one, or a shorter --min-time");
  }
  options.sampling.cold = given.contains("--cold");
  if (given.contains("--verify")) options.verify = verify_value(text("--verify"));
  options.verify.seed = options.seed;
  options.strict = given.contains("--strict");
  options.share_gpus = given.contains("--share-gpus");
  if (given.contains("--transport")) {
    options.transport =
        selection("transport", text("--transport"), {"auto", "staged", "device", "nccl"}, "there are").names.front();
  }
  return options;
}

}  // namespace tessera
