#pragma once
// The command lines of `tessera study` and `tessera limits`, word by word.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tessera::study {

using Words = std::vector<std::string>;

// Parses `--word VALUE` and `--word=VALUE`, words without a value, and words that are not options.
class Reader {
 public:
  Reader(Words const& words, std::string program, Words flags, Words valued)
      : words_(words), program_(std::move(program)), flags_(std::move(flags)), valued_(std::move(valued)) {}

  // Returns false at the end. Otherwise `option` is the option; if it is empty, `value` is a word that is not an
  // option. Throws UserError.
  bool next();

  std::string option;
  std::string value;

 private:
  Words const& words_;
  std::string program_;
  Words flags_;
  Words valued_;
  std::size_t at_ = 0;
};

[[nodiscard]] bool asks_for_help(Words const& words);

}  // namespace tessera::study
