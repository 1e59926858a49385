#pragma once
/// \file
/// A study: which launches of the program it takes to see how rows depend on sizes, ranks, variants or spaces.
///
/// docs/decisions/0019-a-study-is-a-list-of-launches.md has the format of the file and says why.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::study {

/// What a study varies. Each entry of a list is a launch of its own; an entry may join names with `+`: one launch of all.
struct Study {
  std::string name;
  std::vector<std::string> apps{"all"};
  std::vector<std::size_t> sizes{std::size_t{1} << 24};
  bool sizes_per_rank = false;
  std::vector<std::size_t> ranks{1};
  std::vector<std::string> variants;  ///< empty: not said, all
  std::vector<std::string> spaces;
  std::vector<std::string> dtypes;
  std::size_t repeats = 5;           ///< `tessera compare` and medians over launches need five
  std::vector<std::string> options;  ///< of every launch
  std::string launcher;              ///< "srun -n {ranks}"; empty: mpirun, and none for one rank
};

/// One launch.
struct Step {
  std::string name;                    ///< of its files, without .json: "dot-2p24-r1-1"
  std::vector<std::string> launcher;   ///< words before the program; may be empty
  std::string apps;                    ///< "dot", "dot,map", "all"
  std::vector<std::string> arguments;  ///< of `tessera run APPS`, without --json
  std::size_t ranks = 1;
  std::size_t repeat = 0;
};

/// Names of the studies that need no file, and what each shows.
struct Preset {
  std::string_view name;
  std::string_view summary;
};
[[nodiscard]] std::vector<Preset> const& presets();
[[nodiscard]] Study preset(std::string const& name);

/// Reads the text of a study file. Throws UserError that names `path`.
[[nodiscard]] Study parse_study(std::string const& text, std::string const& path);

/// Replaces a list or a number by what an option says: set(study, "ranks", "1,2,4", "--ranks"). Throws UserError.
void set(Study& study, std::string_view key, std::string const& text, std::string const& where);

/// The keys that set() and a study file take.
[[nodiscard]] std::vector<std::string> const& keys();

/// The launches in the order in which they are made: repeat by repeat, every other one backwards, so that whatever drifts is
/// shared by all. Throws UserError where a size overflows, a step is there twice, or there are too many.
[[nodiscard]] std::vector<Step> steps_of(Study const& study);

/// Words of a command as a shell splits them: at spaces, with '...', "..." and \. Throws UserError for an open quote.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text, std::string const& where);

/// A word as a shell takes it, quoted if it must be.
[[nodiscard]] std::string quoted(std::string const& text);

/// "2^24", "1000": as an option takes it.
[[nodiscard]] std::string size_text(std::size_t size);

}  // namespace tessera::study
