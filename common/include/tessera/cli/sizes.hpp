#pragma once
/// \file
/// Sizes as people write them: `1k,2^20,16M` and `2^20:2^26`.

#include <cstddef>
#include <string_view>
#include <vector>

namespace tessera {

/// The sizes of a list of `N` and `A:B`, in the order written.
///
/// N is a whole number from 0 to 2^63-1 in digits, with a suffix k, M or G, or as 2^n. Suffixes are binary, as "1M
/// elements" is in this field's tables: k = 2^10, M = 2^20, G = 2^30. `A:B` doubles from A while not above B.
/// Throws UserError for anything else.
[[nodiscard]] std::vector<std::size_t> parse_sizes(std::string_view text);

}  // namespace tessera
