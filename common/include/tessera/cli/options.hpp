#pragma once
/// \file
/// The command line that all mini-apps share.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/measure/roofs.hpp>
#include <tessera/measure/sampling.hpp>
#include <tessera/table/app.hpp>
#include <tessera/verify/sample.hpp>

namespace tessera {

/// A selection of names: `--variant a,b`, `--variant all` or not given.
struct Selection {
  bool given = false;
  std::vector<std::string> names;  ///< empty: all

  [[nodiscard]] bool all() const { return names.empty(); }
  [[nodiscard]] bool has(std::string_view name) const;
};

/// The options of a command line.
struct Options {
  std::vector<std::string> inputs;  ///< --input
  std::string inputs_directory;     ///< --inputs
  std::vector<std::size_t> sizes;   ///< --size; if there are no input files, the default size
  bool sizes_per_rank = false;      ///< given by --size-per-rank: still to be multiplied by the number of ranks
  std::uint64_t seed = 42;
  std::optional<DataKind> data;  ///< --data; not given: the mini-app's default
  /// The app's own options that were given: one map per combination of the values of options that take lists.
  std::vector<ParameterMap> parameters{1};
  /// --sweep, or empty. If given, `sizes` and `parameters` have the same length, and size i goes with parameters i.
  std::string sweep;
  Selection dtypes;  ///< not given: one dtype, see dtypes_of
  Selection variants;
  Selection levels;
  Selection spaces;
  SamplingOptions sampling;
  VerifyOptions verify;
  std::string output;              ///< --output, or empty
  std::string json;                ///< --json, or empty
  std::string csv;                 ///< --csv, or empty
  std::string log;                 ///< --log, or empty
  bool spread = false;             ///< --spread: more columns of the tables
  bool energy = false;             ///< --energy: measure the energy of each row
  bool digest = false;             ///< --digest
  bool lines = false;              ///< --lines
  std::string machine;             ///< --machine, or empty: measure
  std::string save_machine;        ///< --save-machine, or empty
  std::string roof;                ///< --roof as it was given, or empty
  std::string baseline;            ///< --baseline, or empty
  Roofs given_roofs;               ///< the roofs that --roof gives
  std::string transport = "auto";  ///< --transport: auto, staged, device or nccl
  bool share_gpus = false;         ///< --share-gpus: allow several ranks per GPU
  bool strict = false;             ///< --strict: a weak row makes the exit code 1
  bool raw = false;                ///< --raw
  bool list = false;
  bool help = false;
  bool version = false;
  std::vector<std::string> kokkos_arguments;  ///< --kokkos-*, for the Runtime
  /// The values of all other options that were given, as written; "true" for a flag.
  std::map<std::string, std::vector<std::string>, std::less<>> given;

  [[nodiscard]] bool from_files() const { return !inputs.empty() || !inputs_directory.empty(); }
};

/// Elements of a generated case if --size is not given: 64 MiB of float.
inline constexpr std::size_t default_size = std::size_t{1} << 24;

/// A run with fewer samples is allowed, but the report mentions it.
inline constexpr std::size_t fewest_samples = 10;

/// The program and the mini-apps that a command line belongs to.
struct Command {
  std::string program;           ///< as named in messages: "map", "tessera run map"
  std::vector<App const*> apps;  ///< one, or several for `tessera run all`
  bool in_suite = false;         ///< called by the umbrella program
  std::string typed = program;   ///< argv[0]: the program as the user called it
};

/// Parses a command line. Throws UserError for every error that can be detected without files, Runtime and data. If
/// --help, --list or --version is given, nothing else is parsed.
[[nodiscard]] Options parse_options(Command const& command, std::vector<std::string> const& arguments);

/// Parses "PEAK,BANDWIDTH" in operations and bytes per second: one peak for all dtypes, one bandwidth for copying and
/// reading. The other roofs stay unknown. Throws UserError if the text is not two positive numbers; `option` names the
/// option in the message.
[[nodiscard]] Roofs parse_roof(std::string const& option, std::string const& text);

/// Returns the output of --help.
[[nodiscard]] std::string help_text(Command const& command);

/// Returns the output of --list. For scripts: the first word of a line is its kind (app, variant, space, dtype), the
/// second word is the name.
[[nodiscard]] std::string list_text(std::vector<App const*> const& apps);

/// Returns the output of --version.
[[nodiscard]] std::string version_text(std::string_view program);

/// Parses the value of a parameter, or the values of a parameter to sweep. Throws UserError (with the choices, the
/// range or the type).
[[nodiscard]] std::vector<ParameterValue> parse_parameter(ParameterSpec const& spec, std::string const& text);

/// Throws UserError if a value is outside the parameter's choices or range. `problem` is the beginning of the message:
/// "bad value `3` for --c".
void check_parameter(ParameterSpec const& spec, ParameterValue const& value, std::string const& problem);

/// Returns "10", "0.5" (the shortest text that reads back as the same number), "true", "sum".
[[nodiscard]] std::string to_string(ParameterValue const& value);

}  // namespace tessera
