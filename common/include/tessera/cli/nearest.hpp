#pragma once
/// \file
/// Words of messages, and "did you mean": the names nearest to an unknown word.

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

/// Returns the number of letters to insert, delete, replace or swap with a neighbour to turn `a` into `b` (optimal
/// string alignment distance).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns at most three of the `names` that `word` may stand for, best first: names at an edit distance of at most
/// 1; names with the same beginning, or within a third of the longer word's letters; names that contain the word. Empty
/// if none is near.
[[nodiscard]] std::vector<std::string> nearest(std::string_view word, std::vector<std::string> const& names);

/// Returns "a, b, c".
[[nodiscard]] std::string join(std::vector<std::string> const& words, std::string_view separator = ", ");

/// Returns the parts as one text; whole numbers in decimal digits.
template <class... Parts>
[[nodiscard]] std::string concat(Parts const&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return std::move(text).str();
}

/// Returns the text with control characters as \n, \t, \x1b, so that a message that quotes user input stays on one
/// line.
[[nodiscard]] std::string one_line(std::string_view text);

/// Returns the text, or only its beginning and end if it is long, for user input in a message.
[[nodiscard]] std::string shortened(std::string_view text);

/// Width of help texts and digests.
inline constexpr std::size_t page_width = 100;

/// Returns `text` wrapped at the page's width, with all lines but the first indented.
[[nodiscard]] std::string wrapped(std::string const& text, std::size_t indent);

/// Returns the text with blanks up to a width.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);

/// Returns "unknown variant `x` (there are a, b, c); did you mean `b`?", for a UserError. `who_has` may be "this build
/// has".
[[nodiscard]] std::string unknown_name(std::string_view kind, std::string_view word,
                                       std::vector<std::string> const& names, std::string_view who_has = "there are");

/// Throws the UserError of unknown_name() unless `word` is one of the names.
void check_name(std::string_view kind, std::string_view word, std::vector<std::string> const& names,
                std::string_view who_has = "there are");

/// Throws UserError "bad value `text` for --option (why); what to do".
[[noreturn]] void bad_value(std::string const& option, std::string_view text, std::string const& why,
                            std::string const& what_to_do);

/// Returns "did you mean `a` or `b`?" for the nearest names, or `otherwise` if none is near. `prefix` goes before each
/// name.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::vector<std::string> const& names,
                                       std::string_view otherwise, std::string_view prefix = "");

}  // namespace tessera
