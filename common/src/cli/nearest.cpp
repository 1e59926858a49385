#include <tessera/cli/nearest.hpp>

#include <algorithm>
#include <tuple>

#include <tessera/core/types.hpp>

namespace tessera {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table are kept, because a swap looks two rows back.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      bool const swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest(std::string_view word, std::vector<std::string> const& names) {
  struct Candidate {
    int kind;
    std::size_t distance;
    std::string name;
  };
  std::vector<Candidate> candidates;
  if (word.empty()) return {};
  for (std::string const& name : names) {
    std::size_t const distance = edit_distance(word, name);
    bool const begins = name.starts_with(word) || (word.size() > 2 && word.starts_with(name));
    bool const contains = word.size() > 2 && name.find(word) != std::string::npos;
    bool const close = distance <= std::max<std::size_t>(1, std::max(word.size(), name.size()) / 3);
    if (begins || close) {
      candidates.push_back({distance <= 1 ? 0 : 1, distance, name});
    } else if (contains) {
      candidates.push_back({2, distance, name});
    }
  }
  std::ranges::stable_sort(candidates, {}, [](Candidate const& c) { return std::tuple(c.kind, c.distance); });
  std::vector<std::string> result;
  for (Candidate const& candidate : candidates) {
    if (result.size() < 3) result.push_back(candidate.name);
  }
  return result;
}

std::string join(std::vector<std::string> const& words, std::string_view separator) {
  std::string text;
  for (std::string const& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string one_line(std::string_view text) {
  std::string result;
  for (char const letter : text) {
    auto const code = static_cast<unsigned char>(letter);
    if (letter == '\n') {
      result += "\\n";
    } else if (letter == '\t') {
      result += "\\t";
    } else if (code < 0x20 || code == 0x7f) {
      constexpr std::string_view digits = "0123456789abcdef";
      result += {'\\', 'x', digits[code / 16], digits[code % 16]};
    } else {
      result += letter;
    }
  }
  return result;
}

std::string shortened(std::string_view text) {
  std::size_t const most = 64;
  if (text.size() <= most) return std::string(text);
  return concat(text.substr(0, most - 16), "...", text.substr(text.size() - 8));
}

std::string did_you_mean(std::string_view word, std::vector<std::string> const& names, std::string_view otherwise,
                         std::string_view prefix) {
  std::string text;
  for (std::string const& name : nearest(word, names)) {
    text += concat(text.empty() ? "did you mean `" : " or `", prefix, name, "`");
  }
  return text.empty() ? std::string(otherwise) : text + "?";
}

std::string unknown_name(std::string_view kind, std::string_view word, std::vector<std::string> const& names,
                         std::string_view who_has) {
  return concat("unknown ", kind, " `", shortened(word), "` (", who_has, " ", join(names), "); ",
                did_you_mean(word, names, "choose one of them"));
}

void check_name(std::string_view kind, std::string_view word, std::vector<std::string> const& names,
                std::string_view who_has) {
  if (std::ranges::find(names, word) == names.end()) throw UserError(unknown_name(kind, word, names, who_has));
}

void bad_value(std::string const& option, std::string_view text, std::string const& why,
               std::string const& what_to_do) {
  throw UserError("bad value `" + shortened(text) + "` for " + option + " (" + why + "); " + what_to_do);
}

std::string wrapped(std::string const& text, std::size_t indent) {
  std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  std::string result;
  std::string line = text.substr(0, begin);
  bool empty = true;
  while (begin < text.size()) {
    std::size_t const end = std::min(text.find(' ', begin), text.size());
    std::string const word = text.substr(begin, end - begin);
    begin = end + 1;
    if (!empty && line.size() + 1 + word.size() > page_width) {
      result += line + "\n";
      line = std::string(indent, ' ') + word;
    } else {
      line += (empty ? "" : " ") + word;
    }
    empty = false;
  }
  return result + line;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string result(text);
  result.resize(std::max(width, text.size()), ' ');
  return result;
}

}  // namespace tessera
