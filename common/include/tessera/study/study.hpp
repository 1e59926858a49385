#pragma once
/// \file
/// A study: the launches of the program that show how rows depend on sizes, ranks, variants or spaces.
///
/// docs/decisions/0019-a-study-is-a-list-of-launches.md describes the file format and the reasons.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::study {

/// The values that a study varies. Each entry of a list is a separate launch. An entry may join names with `+` to run
/// them in one launch.
struct Study {
  std::string name = {};
  std::vector<std::string> apps{"all"};
  std::vector<std::size_t> sizes{std::size_t{1} << 24};
  bool sizes_per_rank = false;
  std::vector<std::size_t> ranks{1};
  std::vector<std::string> variants = {};  ///< empty: not given, all
  std::vector<std::string> spaces = {};
  std::vector<std::string> dtypes = {};
  std::size_t repeats = 5;                ///< `tessera compare` and medians over launches need five
  std::vector<std::string> options = {};  ///< passed to every launch
  std::string launcher = {};              ///< "srun -n {ranks}"; empty: mpirun, or no launcher for one rank
};

/// One launch.
struct Step {
  std::string name;                    ///< name of its files, without .json: "dot-2p24-r1-1"
  std::vector<std::string> launcher;   ///< words before the program; may be empty
  std::string apps;                    ///< "dot", "dot,map", "all"
  std::vector<std::string> arguments;  ///< of `tessera run APPS`, without --json
  std::size_t ranks = 1;
  std::size_t repeat = 0;
};

/// The studies that need no file, with a description of each.
struct Preset {
  std::string_view summary;
  Study study;
};
[[nodiscard]] std::vector<Preset> const& presets();
[[nodiscard]] Study preset(std::string const& name);

/// Parses the text of a study file. Throws UserError that names `path`.
[[nodiscard]] Study parse_study(std::string const& text, std::string const& path);

/// Replaces a list or a number by an option's value: set(study, "ranks", "1,2,4", "--ranks"). Throws UserError.
void set(Study& study, std::string_view key, std::string const& text, std::string const& where);

/// Returns the launches in execution order: repeat by repeat, every second repeat in reverse order, so that drift
/// affects all launches alike. Throws UserError if a size overflows, a step occurs twice, or there are too many
/// launches.
[[nodiscard]] std::vector<Step> steps_of(Study const& study);

/// Splits a command into words as a shell does: at spaces, with '...', "..." and \. Throws UserError for an open quote.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text, std::string const& where);

}  // namespace tessera::study
