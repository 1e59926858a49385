#include <tessera/ranks/agreement.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <tessera/core/checksum.hpp>

namespace tessera::ranks {

namespace {

// Separators for facts as text: neither control character occurs in user input or in file names.
constexpr char end_of_what = '\x1f';
constexpr char end_of_fact = '\x1e';

std::string text_of(std::vector<Fact> const& facts) {
  std::string text;
  for (Fact const& fact : facts) text += fact.what + end_of_what + fact.value + end_of_fact;
  return text;
}

std::vector<Fact> facts_of(std::string const& text) {
  std::vector<Fact> facts;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const middle = text.find(end_of_what, begin);
    std::size_t const end = text.find(end_of_fact, begin);
    facts.push_back({text.substr(begin, middle - begin), text.substr(middle + 1, end - middle - 1)});
    begin = end + 1;
  }
  return facts;
}

// Returns "rank 3", "ranks 0 to 2 and 5".
std::string names_of(std::vector<int> const& ranks) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last < i + 2) last = i;  // two ranks are named individually
    parts.push_back(std::to_string(ranks[i]) + (last > i ? " to " + std::to_string(ranks[last]) : std::string()));
    i = last + 1;
  }
  std::string text = ranks.size() > 1 ? "ranks " : "rank ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

}  // namespace

void check_same(Ranks const& ranks, std::vector<Fact> const& facts) {
  if (ranks.count() == 1) return;
  std::string const own = text_of(facts);
  Checksum sum;
  sum.add(own);
  std::vector<std::uint64_t> const sums = ranks.all_gather(sum.value());
  if (std::ranges::count(sums, sums.front()) == static_cast<std::ptrdiff_t>(sums.size())) return;

  std::vector<std::vector<Fact>> all;
  std::vector<std::string> names;  // of facts, in the order of the first rank that has them
  for (std::string const& text : ranks.all_gather(own)) {
    all.push_back(facts_of(text));
    for (Fact const& fact : all.back()) {
      if (std::ranges::find(names, fact.what) == names.end()) names.push_back(fact.what);
    }
  }
  for (std::string const& name : names) {
    std::vector<std::pair<std::string, std::vector<int>>> values;  // each with the ranks that have it
    for (std::size_t r = 0; r < all.size(); ++r) {
      auto const fact = std::ranges::find(all[r], name, &Fact::what);
      std::string const value = fact == all[r].end() ? "none" : fact->value;
      auto known = std::ranges::find(values, value, &std::pair<std::string, std::vector<int>>::first);
      if (known == values.end()) known = values.insert(values.end(), {value, {}});
      known->second.push_back(static_cast<int>(r));
    }
    if (values.size() == 1) continue;
    // A value that few ranks have is likely to be the error: it comes first.
    std::ranges::stable_sort(values, {}, [](auto const& value) { return value.second.size(); });
    std::size_t const most = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, values.size()); ++i) {
      text += (i == 0 ? "" : "; ") + values[i].first + " on " + names_of(values[i].second);
    }
    if (values.size() > most) text += "; others on others";
    throw UserError("the ranks do not agree on " + name + " (" + text +
                    "); give all of them the same command line, environment, program and files");
  }
}

}  // namespace tessera::ranks
