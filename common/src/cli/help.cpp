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
    text += concat(kind, padded(variant.name, width), "  ", padded(name_of(variant.level), 7), "  ",
                   padded(determinism(variant), bits), "  ", variant.summary, variant.lesson ? " [lesson]" : "",
                   restriction(app, variant), "\n");
  }
  return text;
}

}  // namespace

std::string help_text(Command const& command) {
  App const* const app = command.apps.size() == 1 ? command.apps.front() : nullptr;
  std::string text;
  if (app != nullptr) {
    text += concat(app->info.name, ": ", app->info.summary, "\n\n");
  } else {
    text += command.program + ": all mini-apps, with their common options\n\n";
  }
  Options unused;
  std::vector<cli::OptionEntry> const table = cli::option_table(command, unused);
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
    text +=
        concat("  ", command.program, " --size 64M --variant ", app->variants.front().name, " --samples 50 --cold\n");
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
    text += concat("app      ", padded(app->info.name, width), "  ", app->info.summary, "\n");
    text += variant_lines(*app, "variant  ", width);
    for (Sweep const& sweep : sweeps_of(app->info.name)) {
      text += concat("sweep    ", padded(sweep.name, width), "  ", sweep.summary, "\n");
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
  if (program != "tessera") text += concat(" (", program, ")");
  text += "\n";
  facts["spaces"] = join(enabled_spaces());
  facts["dtypes"] = join(enabled_dtypes());
  for (auto const& [name, value] : facts) text += padded(name, 16) + " " + value + "\n";
  return text;
}

}  // namespace tessera
