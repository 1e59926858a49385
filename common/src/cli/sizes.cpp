#include <tessera/cli/sizes.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include <tessera/core/types.hpp>

namespace tessera {

namespace {

constexpr std::size_t largest = std::numeric_limits<std::int64_t>::max();

// What is read, for messages.
struct Words {
  std::string_view option;
  std::string_view whole;  // its value
};

// The message shows the part that is wrong and, where it is one part of many, the whole value.
[[noreturn]] void fail(std::string_view part, Words const& words, std::string const& why) {
  std::string const where = part == words.whole ? "" : " in `" + std::string(words.whole) + "`";
  std::string const option(words.option);
  throw UserError("bad " + option + " `" + std::string(part) + "`" + where + " (" + why + "); write for example --" +
                  option + (option == "size" ? " 1000, 64k, 2^20, 1k,1M or 2^20:2^26" : " 64, 64,256 or 2^6:2^10"));
}

std::size_t parse_number(std::string_view part, Words const& words) {
  if (part.empty()) fail(part, words, "empty");
  if (part.front() == '-') fail(part, words, "negative");
  if (std::ranges::any_of(part, [](unsigned char c) { return std::isspace(c) != 0; })) {
    fail(part, words, "it contains a blank");
  }
  std::size_t number = 0;
  auto const [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  std::string_view const rest(end, static_cast<std::size_t>(part.data() + part.size() - end));
  std::string const too_large = "larger than 2^63-1";
  if (end == part.data()) fail(part, words, "not a whole number");
  if (error == std::errc::result_out_of_range) fail(part, words, too_large);

  if (number == 2 && rest.starts_with('^')) {
    unsigned exponent = 0;
    auto const [stop, bad] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), exponent);
    if (stop != rest.data() + rest.size() || stop == rest.data() + 1) {
      fail(part, words, "the power is not a whole number");
    }
    if (bad != std::errc{} || exponent > 62) fail(part, words, too_large);
    return std::size_t{1} << exponent;
  }
  unsigned shift = 0;
  if (rest == "k" || rest == "K") {
    shift = 10;
  } else if (rest == "M") {
    shift = 20;
  } else if (rest == "G") {
    shift = 30;
  } else if (!rest.empty()) {
    fail(part, words, "`" + std::string(rest) + "` is not one of the suffixes k, M, G");
  }
  if (number > (largest >> shift)) fail(part, words, too_large);
  return number << shift;
}

}  // namespace

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const comma = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

std::vector<std::size_t> parse_sizes(std::string_view text, std::string_view option) {
  Words const words{option, text};
  std::vector<std::size_t> sizes;
  for (std::string const& part : split_at_commas(text)) {
    std::size_t const colon = part.find(':');
    if (colon == std::string::npos) {
      sizes.push_back(parse_number(part, words));
      continue;
    }
    std::size_t const first = parse_number(part.substr(0, colon), words);
    std::size_t const last = parse_number(part.substr(colon + 1), words);
    if (first == 0) fail(part, words, "a range doubles, and from 0 it never leaves 0");
    if (first > last) fail(part, words, "the range ends before it begins");
    for (std::size_t size = first;; size *= 2) {
      sizes.push_back(size);
      if (size > last / 2) break;
    }
  }
  return sizes;
}

}  // namespace tessera
