#pragma once
// The options of a command as data: one row per option. Parsers call its setter, help texts print it.

#include <functional>
#include <string>
#include <vector>

#include <tessera/cli/options.hpp>

namespace tessera::cli {

struct OptionEntry {
  // Takes one value of the option, or ignores the text for a flag. Throws UserError.
  using Setter = std::function<void(std::string const& option, std::string const& text)>;

  std::string name;   // "--size"
  std::string value;  // "N,N,...|A:B"; empty for a flag
  std::string help;
  Setter set;
  std::string alias = {};  // "-h"
  bool many = false;       // takes several values: FILE...
  Setter set_second = {};  // takes the word after the value, if the option needs one
  std::string group = {};  // its heading in --help
};

// Setters that keep the text, or set a flag.
[[nodiscard]] OptionEntry::Setter to(std::string& target);
[[nodiscard]] OptionEntry::Setter to(bool& target);

// Returns the rows in the order of --help. Their setters change `options`.
[[nodiscard]] std::vector<OptionEntry> option_table(Command const& command, Options& options);

}  // namespace tessera::cli
