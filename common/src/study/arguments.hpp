#pragma once
// The commands of the umbrella program that are about many runs, and what their command lines have in common.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/study/model.hpp>
#include <tessera/table/app.hpp>

#include "../cli/option_table.hpp"

namespace tessera {

// `words` are those after the command. Returns the exit code. Throws UserError.
namespace study {

using Words = std::vector<std::string>;
using cli::OptionEntry;
using cli::to;

/// `tessera study`: prints the commands of a study, or runs them. `typed` is argv[0].
int run_study(std::vector<App> const& apps, Words const& words, std::string const& typed);

/// `tessera limits`: prints a table of the numbers of ranks at which mini-apps stop scaling, for a machine and a link.
int run_limits(std::vector<App> const& apps, Words const& words);

/// `tessera predict`: prints the model's time beside each time in reports.
int run_predict(std::vector<App> const& apps, Words const& words);

inline constexpr std::string_view predictions_head =
    "app,size,dtype,space,ranks,predicted_seconds,bound,measured_seconds,variant,noisy,roofs_unsure";

/// Whether the model can tell the time of a mini-app: it knows bytes and operations, not the work behind a random
/// number.
[[nodiscard]] inline bool is_modelled(App const& app) { return app.info.rate.empty(); }

// Returns the lines of --help, with the descriptions from a column on. Rows without a description are left out: the
// usage describes them. A name may be several: "--apps, --sizes".
[[nodiscard]] std::string options_text(std::vector<OptionEntry> const& table, std::size_t column);

// Calls the setters for `--word VALUE`, `--word=VALUE` and flags, and `set_word` for words that are not options. Throws
// UserError.
void parse_words(Words const& words, std::string const& program, std::vector<OptionEntry> const& table,
                 std::function<void(std::string const&)> const& set_word);

[[nodiscard]] bool asks_for_help(Words const& words);

/// Returns the mini-apps of "all" or "a,b", each once. Throws UserError that begins with `who_has` what there is.
[[nodiscard]] std::vector<App const*> find_apps(std::vector<App> const& apps, std::string const& text,
                                                std::string_view who_has = "this build has");

/// Returns a generated case. Parameters that are not `given` have their defaults.
[[nodiscard]] model::ModelCase model_case(App const& app, DType dtype, std::size_t size, ParameterMap const& given);

}  // namespace study

namespace comparison {

/// `tessera compare`: prints the comparison. The exit code is 1 if a row is slower or unverified (with --self-test: if
/// more than 1% of the verdicts are wrong).
int run_compare(study::Words const& words);

}  // namespace comparison

}  // namespace tessera
