#pragma once
// The mini-apps of a command line, and their cases as the model sees them.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/study/model.hpp>
#include <tessera/table/app.hpp>

namespace tessera::study {

/// Returns the mini-apps of "all" or "a,b", each once. Throws UserError that begins with `who_has` what there is.
[[nodiscard]] std::vector<App const*> find_apps(std::vector<App> const& apps, std::string const& text,
                                                std::string_view who_has = "this build has");

/// Returns a generated case. Parameters that are not `given` have their defaults.
[[nodiscard]] model::ModelCase model_case(App const& app, DType dtype, std::size_t size, ParameterMap const& given);

}  // namespace tessera::study
