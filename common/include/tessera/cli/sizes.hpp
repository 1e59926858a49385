#pragma once
/// \file
/// Lists as people write them: of names, `a,b`; of sizes, `1k,2^20,16M` and `2^20:2^26`.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The parts of a text between commas; one where there is no comma, also of an empty text.
[[nodiscard]] std::vector<std::string> split_at_commas(std::string_view text);

/// The sizes of a list of `N` and `A:B`, in the order written.
///
/// N is a whole number from 0 to 2^63-1 in digits, with a suffix k, M or G, as 2^n, or with a power of ten as 1e6. Suffixes
/// are binary, as "1M elements" is in this field's tables: k = 2^10, M = 2^20, G = 2^30. `A:B` doubles from A while not
/// above B. Throws UserError for anything else; `option` is the one that takes the list, without its dashes, and `example`
/// what the message advises to write.
[[nodiscard]] std::vector<std::size_t> parse_sizes(
    std::string_view text, std::string_view option = "size",
    std::string_view example = "--size 1e6, --size 1k,1M or --size 2^20:2^26");

/// One such number, or nothing if the text is none.
[[nodiscard]] std::optional<std::size_t> one_size(std::string_view text);

}  // namespace tessera
