#include "option_table.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/cli/sweeps.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera::cli {

namespace {

using Names = std::vector<std::string>;

using Setter = OptionEntry::Setter;

std::string path_value(std::string const& option, std::string const& text) {
  if (text.empty()) bad_value(option, text, "an empty path", "write a path");
  return text;
}

Setter path(std::string& target) {
  return [&target](std::string const& option, std::string const& text) { target = path_value(option, text); };
}

std::size_t count_value(std::string const& option, std::string const& text, std::size_t least,
                        std::string const& example) {
  auto const value = one_size(text);
  std::size_t const most = 1'000'000'000;
  if (!value || *value < least || *value > most) {
    bad_value(option, text, concat("not a whole number from ", least, " to ", most), "write for example " + example);
  }
  return *value;
}

Setter count(std::size_t& target, std::size_t least, std::string const& example) {
  return [=, &target](std::string const& option, std::string const& text) {
    target = count_value(option, text, least, example);
  };
}

Setter seconds(double& target) {
  return [&target](std::string const& option, std::string const& text) {
    auto const value = to_number<double>(text);
    if (!value || !(*value >= 0 && *value <= 86400)) {
      bad_value(option, text, "not a number of seconds from 0 to 86400", "write for example " + option + " 0.5");
    }
    target = *value;
  };
}

Setter one_of(std::string& target, std::string const& kind, Names const& names) {
  return [=, &target](std::string const&, std::string const& text) {
    check_name(kind, text, names);
    target = text;
  };
}

Setter selection(Selection& target, Names const& names, std::string const& who_has = "there are") {
  return [=, &target](std::string const& option, std::string const& text) {
    target = {.given = true, .names = {}};
    if (text == "all") return;
    for (std::string const& name : split_at_commas(text)) {
      if (name.empty()) bad_value(option, text, "an empty name", "write names with single commas between them");
      if (name == "all") bad_value(option, text, "`all` and other names", "write only `all`, or only names");
      check_name(option.substr(2), name, names, who_has);
      target.names.push_back(name);
    }
  };
}

Setter seed(std::uint64_t& target) {
  return [&target](std::string const& option, std::string const& text) {
    auto value = to_number<std::uint64_t>(text);  // all of 64 bits
    if (!value) value = one_size(text);
    if (!value) bad_value(option, text, "not a whole number from 0 to 2^64-1", "write for example --seed 42");
    target = *value;
  };
}

Setter verification(VerifyOptions& target) {
  return [&target](std::string const& option, std::string const& text) {
    using Kind = VerifyOptions::Kind;
    std::string const sample = "sample:";
    std::string const example = "--verify sample:100000";
    if (text.starts_with(sample)) {
      std::string const number = text.substr(sample.size());
      target = {.kind = Kind::sample, .elements = count_value("--verify sample:", number, 1, example)};
    } else if (text == "every" || text == "first") {
      target = {.kind = text == "every" ? Kind::every : Kind::first};
    } else {
      bad_value(option, text, "not every, first or sample:N", "write for example " + example);
    }
  };
}

// Returns the dtypes of this build, with the other integers that a mini-app of the command has.
Names dtype_names(Command const& command) {
  Names names = enabled_dtypes();
  for (DType const dtype : more_integers) {
    bool const there = std::ranges::any_of(command.apps, [&](App const* app) {
      return std::ranges::find(app->rows, dtype, &Row::dtype) != app->rows.end();
    });
    if (there) names.emplace_back(name_of(dtype));
  }
  return names;
}

// Throws for a dtype that Tessera supports but this build lacks; the message says how to get it.
Setter dtypes(Command const& command, Selection& target) {
  return [names = dtype_names(command), &target](std::string const& option, std::string const& text) {
    Names const& here = names;
    for (std::string const& name : split_at_commas(text)) {
      std::optional<DType> const dtype = dtype_from_name(name);
      if (!dtype || is_more_integer(*dtype) || std::ranges::find(here, name) != here.end()) continue;
      throw UserError("dtype `" + name + "` is not in this build (it has " + join(here) +
                      "); choose one of these, or build with it: -D TESSERA_DTYPES=\"" + join(enabled_dtypes(), ";") +
                      ";" + name + "\"");
    }
    selection(target, here, "this build has")(option, text);
  };
}

Names data_names(Command const& command) {
  Names names;
  for (DataKind const kind : data_kinds) {
    bool const there = std::ranges::any_of(command.apps, [&](App const* app) { return app->has(kind); });
    if (there) names.emplace_back(name_of(kind));
  }
  return names;
}

Setter data(Command const& command, std::optional<DataKind>& target) {
  return [&](std::string const&, std::string const& text) {
    Names const names = data_names(command);
    auto const kind = std::ranges::find(data_kinds, text, [](DataKind known) { return name_of(known); });
    if (kind == data_kinds.end()) throw UserError(unknown_name("kind of data", text, names));
    if (std::ranges::find(names, text) == names.end()) {
      throw UserError("no " + text + " data (" + command.program + " has " + join(names) +
                      "; see its README); choose one of these");
    }
    target = *kind;
  };
}

// With several options, the values of the first one change slowest.
void combine(std::vector<ParameterMap>& combinations, std::string const& name,
             std::vector<ParameterValue> const& values) {
  std::vector<ParameterMap> const known = std::exchange(combinations, {});
  for (ParameterMap const& combination : known) {
    for (ParameterValue const& value : values) {
      combinations.push_back(combination);
      combinations.back()[name] = value;
    }
  }
}

// Returns the options of a mini-app, one or two for each of its parameters.
std::vector<OptionEntry> own_options(App const& app, std::vector<ParameterMap>& target) {
  std::vector<OptionEntry> rows;
  for (ParameterSpec const& spec : app.parameters) {
    if (spec.given_by != GivenBy::option) continue;
    Setter const set = [&](std::string const&, std::string const& text) {
      combine(target, spec.name, parse_parameter(spec, text));
    };
    std::string const preset = " (default " + to_string(spec.default_value) + ")";
    if (auto const* flag = std::get_if<bool>(&spec.default_value)) {
      rows.push_back({"--" + spec.name, "", spec.help + (*flag ? " (default)" : ""),
                      [&](auto const&, auto const&) { combine(target, spec.name, {true}); }});
      rows.push_back({"--no-" + spec.name, "",
                      "the opposite; also overrides a file's attribute" + std::string(*flag ? "" : " (default)"),
                      [&](auto const&, auto const&) { combine(target, spec.name, {false}); }});
    } else if (!spec.choices.empty()) {
      rows.push_back({"--" + spec.name, join(spec.choices, "|"), spec.help + preset, set});
    } else {
      std::string const kind = std::holds_alternative<double>(spec.default_value)         ? "X"
                               : spec.sweep                                               ? "N,N,...|A:B"
                               : std::holds_alternative<std::int64_t>(spec.default_value) ? "N"
                                                                                          : "TEXT";
      std::string const each = spec.sweep ? "; a list runs each value" : "";
      rows.push_back({"--" + spec.name, kind, spec.help + each + preset, set});
    }
  }
  return rows;
}

Names variant_names(Command const& command) {
  Names names;
  for (App const* app : command.apps) {
    for (VariantInfo const& variant : app->variants) {
      if (std::ranges::find(names, variant.name) == names.end()) names.emplace_back(variant.name);
    }
  }
  return names;
}

}  // namespace

Setter to(std::string& target) {
  return [&target](std::string const&, std::string const& text) { target = text; };
}

Setter to(bool& target) {
  return [&target](std::string const&, std::string const&) { target = true; };
}

std::vector<OptionEntry> option_table(Command const& command, Options& options) {
  App const* const app = command.apps.size() == 1 ? command.apps.front() : nullptr;
  std::string const usual_data =
      app == nullptr ? "exact, if the mini-app has it" : std::string(name_of(app->data.front()));
  std::vector<OptionEntry> input{
      {"--size", "N,N,...|A:B",
       "generate cases of these sizes, in elements: digits, with k, M or G (2^10, 2^20, 2^30), 2^n or 1e6; A:B doubles "
       "from A to B (default 2^24)",
       [&](auto const&, auto const& text) { options.sizes = parse_sizes(text); }},
      {"--size-per-rank", "N,N,...|A:B", "elements per rank: the total size is this times the number of ranks",
       [&](auto const&, auto const& text) {
         options.sizes = parse_sizes(text, "size-per-rank",
                                     "--size-per-rank 1e6, --size-per-rank 1k,1M or --size-per-rank 2^20:2^26");
         options.sizes_per_rank = true;
       }},
      {"--seed", "N", "seed of the generated data (default 42)", seed(options.seed)},
      {"--data", join(data_names(command), "|"),
       "generated data: exact (all sums are exact in the dtype, so results must be equal), random or adversarial "
       "(default " +
           usual_data + ")",
       data(command, options.data)}};
  if (app != nullptr) {
    input.push_back({"--input", "FILE...",
                     "read cases from HDF5 files, with or without --size; a file sets dtype and size, its attributes "
                     "are the defaults of the options below, and its /expected is checked",
                     [&](auto const& option, auto const& text) { options.inputs.push_back(path_value(option, text)); },
                     "", true});
  }
  input.push_back({"--inputs", "DIR", "read the cases DIR/<app>/*.h5, sorted by name, with or without --size",
                   path(options.inputs_directory)});
  if (app != nullptr) {
    Names names;
    for (Sweep const& sweep : sweeps_of(app->info.name)) names.emplace_back(sweep.name);
    if (!names.empty()) {
      input.push_back({"--sweep", join(names, "|"),
                       "generate the cases (sizes and options) of a benchmark table instead of --size; see --list",
                       one_of(options.sweep, "sweep", names)});
    }
  }

  std::vector<OptionEntry> table;
  auto const add = [&](std::string const& group, std::vector<OptionEntry> rows) {
    for (OptionEntry& row : rows) {
      row.group = group;
      table.push_back(std::move(row));
    }
  };
  add("what to run on", std::move(input));
  if (app != nullptr) add("options of " + std::string(app->info.name), own_options(*app, options.parameters));

  Names levels;
  for (Level const level : all_levels) levels.emplace_back(name_of(level));
  add("what to run",
      {{"--variant", "a,b|all", "variants, by name (default all)", selection(options.variants, variant_names(command))},
       {"--level", "a,b|all", "variants of these levels: range, team, lane, device, library, ranks",
        selection(options.levels, levels)},
       {"--space", "a,b|all", "execution spaces: " + join(enabled_spaces()) + " in this build (default all)",
        selection(options.spaces, enabled_spaces(), "this build has")},
       {"--dtype", "a,b|all",
        "element types of generated data: " + join(dtype_names(command)) + " in this build (default float)",
        dtypes(command, options.dtypes)}});
  add("how to measure",
      {{"--samples", "N", "at least N timed samples per row (default 10)",
        count(options.sampling.samples, 1, "--samples 20")},
       {"--min-time", "SECONDS", "and samples of at least this total time per row (default 0.02 s)",
        seconds(options.sampling.min_time)},
       {"--max-time", "SECONDS",
        concat("stop a row at this total time if it has ", fewest_timed_samples,
               " samples (default 1 s); noisy rows (~) take up to this time, and up to ", most_samples_of_noise,
               " times as many samples"),
        seconds(options.sampling.max_time)},
       {"--warmup", "N", "launches before the first sample, not timed (default 3)",
        count(options.sampling.warmup, 0, "--warmup 3")},
       {"--cold", "", "evict the caches before each sample", to(options.sampling.cold)},
       {"--energy", "",
        "after the samples launch each row for at least 1 s and report its energy: of the board of an NVIDIA GPU, or "
        "of a host's processor packages",
        to(options.energy)},
       {"--verify", "every|first|sample:N",
        "check the first and the last launch of a row, only the first, or about N elements of each field of both "
        "(default every)",
        verification(options.verify)},
       {"--transport", "auto|staged|device|nccl",
        "how bulk data move between the GPUs of ranks: staged (through pinned host memory), device (pointers given to "
        "MPI) or nccl (default auto: nccl if this build has it, else device if MPI reports support, else staged)",
        one_of(options.transport, "transport", {"auto", "staged", "device", "nccl"})},
       {"--share-gpus", "", "allow several ranks on one GPU", to(options.share_gpus)},
       {"--machine", "FILE", "take the machine's roofs from this file instead of measuring them",
        path(options.machine)},
       {"--roof", "PEAK,BANDWIDTH", "or use these roofs, in operations and bytes per second: --roof 19.5e12,1555e9",
        [&](auto const& option, auto const& text) {
          options.given_roofs = parse_roof(option, text);
          options.roof = text;
        }},
       {"--baseline", "FILE",
        "on several ranks: report each row's efficiency against this report (--json) of one rank, by the same variant "
        "or else the fastest",
        path(options.baseline)}});
  if (app != nullptr && app->raw_bytes != nullptr) {
    add("results",
        {{"--raw", "",
          "write the bits of --size words as little-endian bytes to stdout, and nothing else; without --size "
          "endless, until the reader closes the pipe",
          to(options.raw)}});
  }
  add("results",
      {{"--save-machine", "FILE", "write the roofs that this run measured, for --machine", path(options.save_machine)},
       {"--strict", "", "also exit with 1 if a row is weak: its error bound is too loose to detect a lost tile",
        to(options.strict)},
       {"--json", "FILE",
        "write the report with all samples; it is updated during the run, and always a complete document",
        path(options.json)},
       {"--output", "FILE", "write the input and each verified row's output to an HDF5 file (one case only)",
        path(options.output)},
       {"--digest", "",
        "print one line per mini-app instead of tables, then failures with the command that repeats each, and what to "
        "try next",
        to(options.digest)},
       {"--lines", "", "print one line `TESSERA row ...` per row instead of tables, for scripts", to(options.lines)},
       {"--csv", "FILE", "write one line per row to this file at the end of the run, for spreadsheets",
        path(options.csv)},
       {"--spread", "",
        "more columns in the tables: number of samples, minimum, lower and upper quartile, speedup over the first "
        "variant",
        to(options.spread)},
       {"--log", "FILE", "write the tables to this file, too; with --digest only there", path(options.log)}});
  add("other", {{"--list", "", "print variants, spaces and dtypes of this build and stop", to(options.list)},
                {"--help", "", "print this text and stop", to(options.help), "-h"},
                {"--version", "", "print version and build facts and stop", to(options.version)}});
  return table;
}

}  // namespace tessera::cli
