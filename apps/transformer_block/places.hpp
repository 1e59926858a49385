#pragma once
/// \file
/// Where the fields of a call lie.

#include <array>
#include <tuple>
#include <utility>

namespace tessera::transformer_block {

/// Returns the addresses of all fields of the input, then of the output.
template <class Input, class Output>
[[nodiscard]] auto places_of(Input const& input, Output const& output) {
  return std::apply([](auto const&... field) { return std::array{static_cast<void const*>(field.data())...}; },
                    std::tuple_cat(Input::fields(input), Output::fields(output)));
}

template <class Input, class Output>
using Places = decltype(places_of(std::declval<Input const&>(), std::declval<Output const&>()));

}  // namespace tessera::transformer_block
