#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/options.hpp>
#include <tessera/cli/sweeps.hpp>
#include <tessera/table/runtime.hpp>

#include "option_table.hpp"

namespace tessera {

namespace cli {

namespace {

std::vector<std::string> data_names(Command const& command) {
  std::vector<std::string> names;
  for (DataKind const kind : data_kinds) {
    bool const there = std::ranges::any_of(command.apps, [&](App const* app) { return app->has(kind); });
    if (there) names.emplace_back(name_of(kind));
  }
  return names;
}

}  // namespace

std::vector<OptionEntry> option_table(Command const& command) {
  std::string const input = "what to run on";
  std::string const rows = "what to run";
  std::string const measure = "how to measure";
  std::string const results = "results";
  std::string const other = "other";
  std::vector<OptionEntry> table;

  std::string sizes = "generate cases of these sizes, in elements: digits, with k, M or G (2^10, 2^20, 2^30), ";
  sizes += "2^n or 1e6; A:B doubles from A to B (default 2^24)";
  table.push_back({input, "--size", "N,N,...|A:B", sizes});
  table.push_back(
      {input, "--size-per-rank", "N,N,...|A:B", "elements per rank: the total size is this times the number of ranks"});
  table.push_back({input, "--seed", "N", "seed of the generated data (default 42)"});
  std::string kinds = "generated data: exact (all sums are exact in the dtype, so results must be equal), random or ";
  kinds += "adversarial (default ";
  kinds += command.apps.size() == 1 ? name_of(command.apps.front()->data.front()) : "exact, if the mini-app has it";
  table.push_back({input, "--data", join(data_names(command), "|"), kinds + ")"});
  if (command.apps.size() == 1) {
    std::string files = "read cases from HDF5 files, with or without --size; a file sets dtype and size, ";
    files += "its attributes are the defaults of the options below, and its /expected is checked";
    table.push_back({input, "--input", "FILE...", files, "", true});
  }
  table.push_back({input, "--inputs", "DIR", "read the cases DIR/<app>/*.h5, sorted by name, with or without --size"});
  if (command.apps.size() == 1) {
    std::vector<std::string> names;
    for (Sweep const& sweep : sweeps_of(command.apps.front()->info.name)) names.emplace_back(sweep.name);
    if (!names.empty()) {
      table.push_back({input, "--sweep", join(names, "|"),
                       "generate the cases (sizes and options) of a benchmark table instead of --size; see --list"});
    }
  }

  if (command.apps.size() == 1) {
    App const& app = *command.apps.front();
    std::string const group = "options of " + std::string(app.info.name);
    for (ParameterSpec const& spec : app.parameters) {
      std::string const preset = " (default " + to_string(spec.default_value) + ")";
      if (auto const* flag = std::get_if<bool>(&spec.default_value)) {
        table.push_back({group, "--" + spec.name, "", spec.help + (*flag ? " (default)" : "")});
        table.push_back({group, "--no-" + spec.name, "",
                         "the opposite; also overrides a file's attribute" + std::string(*flag ? "" : " (default)")});
      } else if (!spec.choices.empty()) {
        table.push_back({group, "--" + spec.name, join(spec.choices, "|"), spec.help + preset});
      } else {
        std::string const kind = std::holds_alternative<double>(spec.default_value)         ? "X"
                                 : spec.sweep                                               ? "N,N,...|A:B"
                                 : std::holds_alternative<std::int64_t>(spec.default_value) ? "N"
                                                                                            : "TEXT";
        std::string const each = spec.sweep ? "; a list runs each value" : "";
        table.push_back({group, "--" + spec.name, kind, spec.help + each + preset});
      }
    }
  }

  table.push_back({rows, "--variant", "a,b|all", "variants, by name (default all)"});
  table.push_back({rows, "--level", "a,b|all", "variants of these levels: range, team, lane, device, library, ranks"});
  table.push_back(
      {rows, "--space", "a,b|all", "execution spaces: " + join(enabled_spaces()) + " in this build (default all)"});
  table.push_back({rows, "--dtype", "a,b|all",
                   "element types of generated data: " + join(enabled_dtypes()) + " in this build (default float)"});

  table.push_back({measure, "--samples", "N", "at least N timed samples per row (default 10)"});
  table.push_back(
      {measure, "--min-time", "SECONDS", "and samples of at least this total time per row (default 0.02 s)"});
  table.push_back({measure, "--max-time", "SECONDS",
                   "stop a row at this total time if it has " + std::to_string(fewest_timed_samples) +
                       " samples (default 3 s); noisy rows (~) take up to this time, and up to " +
                       std::to_string(most_samples_of_noise) + " times as many samples"});
  table.push_back({measure, "--warmup", "N", "launches before the first sample, not timed (default 3)"});
  table.push_back({measure, "--cold", "", "evict the caches before each sample"});

  table.push_back({measure, "--verify", "every|first|sample:N",
                   "check the first and the last launch of a row, only the first, or about N elements of each field of "
                   "both (default every)"});

  table.push_back(
      {measure, "--transport", "auto|staged|device|nccl",
       "how bulk data move between the GPUs of ranks: staged (through pinned host memory), device (pointers given to "
       "MPI) or nccl (default auto: nccl if this build has it, else device if MPI reports support, else staged)"});
  table.push_back({measure, "--share-gpus", "", "allow several ranks on one GPU"});

  table.push_back({measure, "--machine", "FILE", "take the machine's roofs from this file instead of measuring them"});
  table.push_back({measure, "--roof", "PEAK,BANDWIDTH",
                   "or use these roofs, in operations and bytes per second: --roof 19.5e12,1555e9"});
  table.push_back(
      {measure, "--baseline", "FILE",
       "on several ranks: report each row's efficiency against this report (--json) of one rank, by the same variant "
       "or else the fastest"});
  table.push_back({results, "--save-machine", "FILE", "write the roofs that this run measured, for --machine"});
  table.push_back({results, "--strict", "",
                   "also exit with 1 if a row is weak: its error bound is too loose to detect a lost tile"});
  table.push_back({results, "--json", "FILE",
                   "write the report with all samples; it is updated during the run, and always a complete document"});
  table.push_back(
      {results, "--output", "FILE", "write the input and each verified row's output to an HDF5 file (one case only)"});

  table.push_back(
      {results, "--digest", "",
       "print one line per mini-app instead of tables, then failures with the command that repeats each, and what to "
       "try next"});
  table.push_back({results, "--lines", "", "print one line `TESSERA row ...` per row instead of tables, for scripts"});
  table.push_back(
      {results, "--csv", "FILE", "write one line per row to this file at the end of the run, for spreadsheets"});
  table.push_back(
      {results, "--spread", "",
       "more columns in the tables: number of samples, minimum, lower and upper quartile, speedup over the first "
       "variant"});
  table.push_back({results, "--log", "FILE", "write the tables to this file, too; with --digest only there"});

  table.push_back({other, "--list", "", "print variants, spaces and dtypes of this build and stop"});
  table.push_back({other, "--help", "", "print this text and stop", "-h"});
  table.push_back({other, "--version", "", "print version and build facts and stop"});
  return table;
}

}  // namespace cli

namespace {

// Returns `text` after a head, broken into lines of the page that begin at a column.
std::string beside(std::string const& head, std::string const& text, std::size_t column) {
  bool const fits = head.size() + 2 <= column;
  return (fits ? "" : head + "\n") + wrapped(padded(fits ? head : "", column) + text, column) + "\n";
}

// Returns the spaces and dtypes of a variant's rows, if the build has more of them.
std::string restriction(App const& app, VariantInfo const& variant) {
  std::vector<std::string> spaces, dtypes;
  auto const has = [&](auto const& matches) {
    return std::ranges::any_of(app.rows, [&](Row const& row) { return row.info.name == variant.name && matches(row); });
  };
  for (std::string const& space : enabled_spaces()) {
    if (has([&](Row const& row) { return row.space == space; })) spaces.push_back(space);
  }
  for (std::string const& dtype : enabled_dtypes()) {
    if (has([&](Row const& row) { return name_of(row.dtype) == dtype; })) dtypes.push_back(dtype);
  }
  if (spaces.empty()) return " [not in this build]";
  std::vector<std::string> parts;
  if (spaces.size() < enabled_spaces().size()) parts.push_back(join(spaces, " "));
  if (dtypes.size() < enabled_dtypes().size()) parts.push_back(join(dtypes, " "));
  return parts.empty() ? "" : " [only " + join(parts, "; ") + "]";
}

std::string determinism(VariantInfo const& variant) {
  return variant.deterministic ? "same bits" : std::string(variant.ordered_by) + ": bits may differ";
}

std::size_t name_width(std::vector<App const*> const& apps) {
  std::size_t width = 0;
  for (App const* app : apps) {
    width = std::max(width, app->info.name.size());
    for (VariantInfo const& variant : app->variants) width = std::max(width, variant.name.size());
  }
  return width;
}

std::string variant_lines(App const& app, std::string_view kind, std::size_t width) {
  std::size_t bits = 0;
  for (VariantInfo const& variant : app.variants) bits = std::max(bits, determinism(variant).size());
  std::string text;
  for (VariantInfo const& variant : app.variants) {
    text += std::string(kind) + padded(variant.name, width) + "  " + padded(name_of(variant.level), 7) + "  " +
            padded(determinism(variant), bits) + "  " + std::string(variant.summary) +
            (variant.lesson ? " [lesson]" : "") + restriction(app, variant) + "\n";
  }
  return text;
}

}  // namespace

std::string help_text(Command const& command) {
  App const* const app = command.apps.size() == 1 ? command.apps.front() : nullptr;
  std::string text;
  if (app != nullptr) {
    text += std::string(app->info.name) + ": " + std::string(app->info.summary) + "\n\n";
  } else {
    text += command.program + ": all mini-apps, with their common options\n\n";
  }
  std::vector<cli::OptionEntry> const table = cli::option_table(command);
  text += "usage: " + command.program + " [--size N,N,...|A:B" + (app != nullptr ? " | --input FILE..." : "") +
          " | --inputs DIR] [options]\n";
  std::string group;
  for (cli::OptionEntry const& entry : table) {
    if (entry.group != group) text += "\n" + entry.group + "\n";
    group = entry.group;
    std::string const names = (entry.alias.empty() ? "" : entry.alias + ", ") + entry.name;
    text += beside("  " + names + (entry.value.empty() ? "" : " " + entry.value), entry.help, 28);
  }
  text += beside("  --kokkos-...=...", "passed through to Kokkos, for example --kokkos-num-threads=4", 28);
  if (app != nullptr) {
    text += "\nvariants (level, whether repeated runs give the same bits, idea)\n" +
            variant_lines(*app, "  ", name_width(command.apps));
  }
  text += "\nexamples\n";
  text += "  " + command.program + " --size 2^20:2^26 --json sizes.json\n";
  if (app != nullptr && !app->variants.empty()) {
    text += "  " + command.program + " --size 64M --variant " + std::string(app->variants.front().name) +
            " --samples 50 --cold\n";
    text += "  " + command.program + " --input case.h5 --output results.h5\n";
  }
  text += "  " + command.program + " --inputs inputs --size 2^24 --digest --log tables.txt\n";
  text +=
      "\nexit codes\n  0  every row verified (a skipped row says why)\n  1  a row failed\n  2  a mistake in the "
      "command line or a file, or too little memory; nothing ran\n  128 + signal  interrupted (130: Ctrl-C, 143: "
      "SIGTERM); the report has the rows that were done\n";
  return text;
}

std::string list_text(std::vector<App const*> const& apps) {
  std::size_t const width = name_width(apps);
  std::string text;
  for (App const* app : apps) {
    text += "app      " + padded(app->info.name, width) + "  " + std::string(app->info.summary) + "\n";
    text += variant_lines(*app, "variant  ", width);
    for (Sweep const& sweep : sweeps_of(app->info.name)) {
      text += "sweep    " + padded(sweep.name, width) + "  " + std::string(sweep.summary) + "\n";
    }
  }
  for (std::string const& space : enabled_spaces()) text += "space    " + space + "\n";
  for (std::string const& dtype : enabled_dtypes()) text += "dtype    " + dtype + "\n";
  return text;
}

std::string version_text(std::string_view program) {
  std::map<std::string, std::string> facts = build_facts();
  auto const version = facts.extract("version");
  std::string text = "tessera " + (version.empty() ? std::string("unknown") : version.mapped());
  if (program != "tessera") text += " (" + std::string(program) + ")";
  text += "\n";
  facts["spaces"] = join(enabled_spaces());
  facts["dtypes"] = join(enabled_dtypes());
  for (auto const& [name, value] : facts) text += padded(name, 16) + " " + value + "\n";
  return text;
}

}  // namespace tessera
