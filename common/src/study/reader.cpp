#include "reader.hpp"

#include <algorithm>

#include <tessera/cli/nearest.hpp>
#include <tessera/core/types.hpp>

namespace tessera::study {

bool Reader::next() {
  if (at_ == words_.size()) return false;
  std::string word = words_[at_++];
  option.clear();
  value.clear();
  if (!word.starts_with("-")) {
    value = word;
    return true;
  }
  std::size_t const equals = word.find('=');
  bool const joined = equals != std::string::npos;
  if (joined) {
    value = word.substr(equals + 1);
    word.resize(equals);
  }
  option = word;
  if (std::ranges::find(flags_, word) != flags_.end() && !joined) return true;
  if (std::ranges::find(valued_, word) == valued_.end()) {
    Words known = flags_;
    known.insert(known.end(), valued_.begin(), valued_.end());
    for (std::string& name : known) name = name.substr(2);
    throw UserError(
        "unknown option `" + word + "` (not an option of " + program_ + "); " +
        did_you_mean(word.substr(std::min<std::size_t>(2, word.size())), known, "see " + program_ + " --help", "--"));
  }
  if (!joined) {
    if (at_ == words_.size()) {
      throw UserError("no value for " + word + " (it needs one); see " + program_ + " --help");
    }
    value = words_[at_++];
  }
  return true;
}

bool asks_for_help(Words const& words) {
  return std::ranges::find(words, "--help") != words.end() || std::ranges::find(words, "-h") != words.end();
}

}  // namespace tessera::study
