#pragma once
// What the command lines of the tools have in common.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tessera/study/model.hpp>
#include <tessera/table/app.hpp>

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
  // Returns the word after an option's value. Throws UserError if there is none.
  std::string second_value();

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

/// Returns the mini-apps of "all" or "a,b", each once. Throws UserError that begins with `who_has` what there is.
[[nodiscard]] std::vector<App const*> find_apps(std::vector<App> const& apps, std::string const& text,
                                                std::string_view who_has = "this build has");

/// Returns a generated case. Parameters that are not `given` have their defaults.
[[nodiscard]] model::ModelCase model_case(App const& app, DType dtype, std::size_t size, ParameterMap const& given);

}  // namespace tessera::study
