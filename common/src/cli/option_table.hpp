#pragma once
// The options of a command as data: parse_options passes them to CLI11, help_text prints them.

#include <string>
#include <vector>

#include <tessera/cli/options.hpp>

namespace tessera::cli {

struct OptionEntry {
  std::string group;
  std::string name;   // "--size"
  std::string value;  // "N,N,...|A:B"; empty for a flag
  std::string help;
  std::string alias = {};  // "-h"
  bool many = false;       // takes several values: FILE...
};

[[nodiscard]] std::vector<OptionEntry> option_table(Command const& command);

}  // namespace tessera::cli
