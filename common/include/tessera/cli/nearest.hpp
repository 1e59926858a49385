#pragma once
/// \file
/// The words of messages; "did you mean": the names nearest to a word that is not one of them.

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Number of letters to insert, delete, replace or swap with a neighbour to turn `a` into `b`.
/// (Optimal string alignment distance.)
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// At most `limit` of `names` that `word` may stand for, best first: those that begin with it, those within a third of
/// its letters, those that contain it. Empty when none is near.
[[nodiscard]] std::vector<std::string> nearest(std::string_view word, std::vector<std::string> const& names,
                                               std::size_t limit = 3);

/// "a, b, c".
[[nodiscard]] std::string join(std::vector<std::string> const& words, std::string_view separator = ", ");

/// The text with control characters as \n, \t, \x1b: a message that quotes what a user wrote stays one line.
[[nodiscard]] std::string one_line(std::string_view text);

/// The text, or its begin and its end if it is long: what a user wrote, in a message that must be read.
[[nodiscard]] std::string shortened(std::string_view text);

/// "unknown variant `x` (there are a, b, c); did you mean `b`?", for a UserError. `who_has` may say "this build has".
[[nodiscard]] std::string unknown_name(std::string_view kind, std::string_view word,
                                       std::vector<std::string> const& names, std::string_view who_has = "there are");

/// "did you mean `a` or `b`?" for the nearest names, or `otherwise` when none is near. `prefix` goes before each name.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::vector<std::string> const& names,
                                       std::string_view otherwise, std::string_view prefix = "");

}  // namespace tessera
