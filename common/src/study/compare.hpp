#pragma once

#include <string>
#include <vector>

namespace tessera::comparison {

/// `tessera compare`: `arguments` are the words after it. Prints the comparison. Returns the exit code: 1 if a row is
/// slower or unverified (with --self-test: if more than 1% of the verdicts are wrong). Throws UserError.
int run_compare(std::vector<std::string> const& arguments);

[[nodiscard]] std::string compare_help();

}  // namespace tessera::comparison
