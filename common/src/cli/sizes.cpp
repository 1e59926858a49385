#include <tessera/cli/sizes.hpp>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <limits>

#include <tessera/cli/nearest.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

namespace {

constexpr std::size_t largest = std::numeric_limits<std::int64_t>::max();

// A parsed number, or the reason why the text is not a number.
struct Number {
  std::size_t value = 0;
  std::string fault = {};
};

constexpr char const* not_whole = "not a whole number";
constexpr char const* too_large = "larger than 2^63-1";

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Parses "1e6" and "2.5e6", with at most as many digits as a double represents.
Number decimal(std::string_view text, std::size_t digits) {
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return {.fault = "the power of ten is not a whole number"};
  if (digits > std::numeric_limits<double>::digits10) return {.fault = "more than 15 digits before a power of ten"};
  bool const tiny = error != std::errc{} && text.find('-') != std::string_view::npos;
  if (tiny || value != std::floor(value)) return {.fault = not_whole};
  if (error != std::errc{} || value >= 0x1p63) return {.fault = too_large};
  return {.value = static_cast<std::size_t>(value)};
}

Number read_number(std::string_view part) {
  if (part.empty()) return {.fault = "empty"};
  if (part.front() == '-') return {.fault = "negative"};
  if (std::ranges::any_of(part, [](unsigned char c) { return std::isspace(c) != 0; })) {
    return {.fault = "it contains a blank"};
  }
  std::size_t const e = std::min(part.find_first_of("eE"), part.size());
  bool const is_mantissa = is_digit(part.front()) && std::ranges::count(part.substr(0, e), '.') <= 1 &&
                           std::ranges::all_of(part.substr(0, e), [](char c) { return is_digit(c) || c == '.'; });
  if (e < part.size() && is_mantissa) return decimal(part, e);

  std::size_t number = 0;
  auto const [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  std::string_view const rest(end, static_cast<std::size_t>(part.data() + part.size() - end));
  if (end == part.data()) return {.fault = not_whole};
  if (error == std::errc::result_out_of_range) return {.fault = too_large};

  if (number == 2 && rest.starts_with('^')) {
    unsigned exponent = 0;
    auto const [stop, bad] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), exponent);
    if (stop != rest.data() + rest.size() || stop == rest.data() + 1) {
      return {.fault = "the power is not a whole number"};
    }
    if (bad != std::errc{} || exponent > 62) return {.fault = too_large};
    return {.value = std::size_t{1} << exponent};
  }
  int const shift = rest.empty() ? 0 : rest == "k" || rest == "K" ? 10 : rest == "M" ? 20 : rest == "G" ? 30 : -1;
  if (shift < 0) return {.fault = "`" + shortened(rest) + "` is not one of the suffixes k, M, G"};
  if (number > (largest >> shift)) return {.fault = too_large};
  return {.value = number << shift};
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

std::optional<std::size_t> one_size(std::string_view text) {
  Number const number = read_number(text);
  return number.fault.empty() ? std::optional(number.value) : std::nullopt;
}

std::vector<std::size_t> parse_sizes(std::string_view text, std::string_view option, std::string_view example) {
  // The message shows the wrong part, and the whole value if it has several parts.
  auto const fail = [&](std::string_view part, std::string const& why) {
    std::string const where = part == text ? "" : " in `" + shortened(text) + "`";
    throw UserError(
        concat("bad ", option, " `", shortened(part), "`", where, " (", why, "); write for example ", example));
  };
  auto const number_of = [&](std::string_view part) {
    Number const number = read_number(part);
    if (!number.fault.empty()) fail(part, number.fault);
    return number.value;
  };
  std::vector<std::size_t> sizes;
  for (std::string const& part : split_at_commas(text)) {
    std::size_t const colon = part.find(':');
    if (colon == std::string::npos) {
      sizes.push_back(number_of(part));
      continue;
    }
    std::size_t const first = number_of(part.substr(0, colon));
    std::size_t const last = number_of(part.substr(colon + 1));
    if (first == 0) fail(part, "a range doubles, and from 0 it never leaves 0");
    if (first > last) fail(part, "the range ends before it begins");
    for (std::size_t size = first;; size *= 2) {
      sizes.push_back(size);
      if (size > last / 2) break;
    }
  }
  return sizes;
}

std::string size_text(std::size_t size) {
  return size >= 1024 && std::has_single_bit(size) ? "2^" + std::to_string(std::bit_width(size) - 1)
                                                   : std::to_string(size);
}

}  // namespace tessera
