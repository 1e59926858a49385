#pragma once
/// \file
/// Lists and numbers as users write them: names as `a,b`; sizes as `1k,2^20,16M` and `2^20:2^26`.

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tessera {

/// Returns the parts of a text between commas. Without a comma, also for an empty text, returns one part.
[[nodiscard]] std::vector<std::string> split_at_commas(std::string_view text);

/// Returns the sizes of a list of `N` and `A:B`, in the order written.
///
/// N is an integer from 0 to 2^63-1: decimal digits, optionally with a suffix k, M or G; or 2^n; or a power of ten such
/// as 1e6. Suffixes are binary: k = 2^10, M = 2^20, G = 2^30. `A:B` starts with A and doubles while the size is not
/// above B. Throws UserError for anything else; `option` names the option without its dashes, and `example` is what the
/// message advises to write.
[[nodiscard]] std::vector<std::size_t> parse_sizes(
    std::string_view text, std::string_view option = "size",
    std::string_view example = "--size 1e6, --size 1k,1M or --size 2^20:2^26");

/// Returns one such number, or nothing if the text is not one.
[[nodiscard]] std::optional<std::size_t> one_size(std::string_view text);

/// Returns the whole text as a number, or nothing.
template <class T>
[[nodiscard]] std::optional<T> to_number(std::string_view text) {
  T value{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Returns a size as an option takes it: "2^24", "1000".
[[nodiscard]] std::string size_text(std::size_t size);

}  // namespace tessera
