#pragma once
/// \file
/// How ranks share the fields of most mini-apps.

#include <vector>

#include <tessera/core/info.hpp>

namespace tessera {

/// Base class of a Problem with one output, of which each rank has a block of rows. `InputFields`: how the ranks share
/// each input field.
template <Split... InputFields>
struct SharedByRows {
  [[nodiscard]] static std::vector<Split> input_split(auto const&) { return {InputFields...}; }
  [[nodiscard]] static std::vector<Split> output_split(auto const&) { return {Split::rows}; }
};

}  // namespace tessera
