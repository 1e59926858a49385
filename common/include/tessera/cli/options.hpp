#pragma once
/// \file
/// The command line that every mini-app shares, and what it selects.

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

/// A choice of names: `--variant a,b`, `--variant all` or nothing said.
struct Selection {
  bool given = false;
  std::vector<std::string> names;  ///< empty: all

  [[nodiscard]] bool all() const { return names.empty(); }
  [[nodiscard]] bool has(std::string_view name) const;
};

/// What a command line asks for.
struct Options {
  std::vector<std::string> inputs;  ///< --input
  std::string inputs_directory;     ///< --inputs
  std::vector<std::size_t> sizes;   ///< --size; where nothing is read from files, the default size
  bool sizes_per_rank = false;      ///< they are --size-per-rank: each is still to be multiplied by the ranks
  std::uint64_t seed = 42;
  std::optional<DataKind> data;  ///< --data; not given: the mini-app's default
  /// The app's own options that were given: a map for each combination of the values of those that take several.
  std::vector<ParameterMap> parameters{1};
  /// --sweep, or empty: then `sizes` and `parameters` are equally many, and each size has the parameters beside it.
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
  bool digest = false;             ///< --digest
  bool lines = false;              ///< --lines
  std::string machine;             ///< --machine, or empty: measure
  std::string save_machine;        ///< --save-machine, or empty
  std::string roof;                ///< --roof as it was given, or empty
  std::string baseline;            ///< --baseline, or empty
  Roofs given_roofs;               ///< what it says
  std::string transport = "auto";  ///< --transport: auto, staged, device or nccl
  bool share_gpus = false;         ///< --share-gpus: several ranks on a GPU are wanted
  bool strict = false;             ///< --strict: a weak row makes the exit code 1
  bool list = false;
  bool help = false;
  bool version = false;
  std::vector<std::string> kokkos_arguments;  ///< --kokkos-*, for the Runtime
  /// The values of all other options that were given, as they were written: "true" of a flag.
  std::map<std::string, std::vector<std::string>, std::less<>> given;

  [[nodiscard]] bool from_files() const { return !inputs.empty() || !inputs_directory.empty(); }
};

/// Elements of a generated case where --size is not given: 64 MiB of float.
inline constexpr std::size_t default_size = std::size_t{1} << 24;

/// Fewer samples than this are allowed, with a word in the report.
inline constexpr std::size_t fewest_samples = 10;

/// Whose command line it is.
struct Command {
  std::string program;           ///< for messages: "map", "tessera run map"
  std::vector<App const*> apps;  ///< one, or several in `tessera run all`
  bool in_suite = false;         ///< of the umbrella program
  std::string typed = program;   ///< argv[0]: the program as the user called it
};

/// Reads a command line. Throws UserError for every mistake that can be seen without files, Runtime and data. With
/// --help, --list or --version nothing else is read.
[[nodiscard]] Options parse_options(Command const& command, std::vector<std::string> const& arguments);
[[nodiscard]] Options parse_options(App const& app, int argc, char const* const* argv);

/// The roofs that "PEAK,BANDWIDTH" says, operations and bytes a second: a peak for all dtypes, a bandwidth for copying and
/// for reading; the others stay unknown. Throws UserError if these are not two positive numbers; `option` is who asks.
[[nodiscard]] Roofs parse_roof(std::string const& option, std::string const& text);

/// What --help prints.
[[nodiscard]] std::string help_text(Command const& command);

/// What --list prints. For scripts: the first word of a line is its kind (app, variant, space, dtype), the second the
/// name.
[[nodiscard]] std::string list_text(std::vector<App const*> const& apps);

/// What --version prints.
[[nodiscard]] std::string version_text(std::string_view program);

/// The app's dtypes that were asked for and have rows. Where nothing was asked: float, or the first the app has.
[[nodiscard]] std::vector<DType> dtypes_of(App const& app, Options const& options);

/// The rows of that dtype that were asked for: by space in the order of enabled_spaces(), then in the order of --list.
[[nodiscard]] std::vector<Row const*> select_rows(App const& app, Options const& options, DType dtype);

/// Throws UserError if nothing is selected, or if a variant, space or dtype that was named has no row with the rest
/// of the selection; says which rows there are. `dtypes` are those that will run.
void check_selection(App const& app, Options const& options, std::vector<DType> const& dtypes);

/// The value of a parameter from its text, or the values where it is one to sweep. Throws UserError (with the choices, the range, the type).
[[nodiscard]] std::vector<ParameterValue> parse_parameter(ParameterSpec const& spec, std::string const& text);

/// Throws UserError if a value is outside of the parameter's choices or range. `problem` says what it is of: "bad value
/// `3` for --c".
void check_parameter(ParameterSpec const& spec, ParameterValue const& value, std::string const& problem);

/// "10", "0.5" (the shortest that reads back as the same number), "true", "sum".
[[nodiscard]] std::string to_string(ParameterValue const& value);

}  // namespace tessera
