#pragma once
/// \file
/// What std::sort computes as our mini-apps sort and sort_segments do.

#include <cmath>
#include <cstddef>
#include <type_traits>

#include <tessera/core/types.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::compare {

/// Throws Skip for values, other orders, and keys that `<` does not put into our order.
struct SortOfKeys {
  template <class Input>
  explicit SortOfKeys(Input const& input) {
    using T = typename std::remove_cvref_t<decltype(input.keys)>::non_const_value_type;
    bool has_values = input.values.extent(0) > 0;
    if constexpr (requires { input.other_values; }) has_values = has_values || input.other_values.extent(0) > 0;
    if (has_values) throw Skip("compared are keys without values");
    if (input.parameters.descending) throw Skip("compared is ascending order");
    if constexpr (requires { input.parameters.template by_some_bits<T>(); }) {
      if (input.parameters.template by_some_bits<T>()) throw Skip("compared are sorts by all bits");
    }
    if constexpr (std::is_floating_point_v<T>) {
      for (std::size_t i = 0; i < input.keys.extent(0); ++i) {
        T const key = input.keys(i);
        if (std::isnan(key)) throw Skip("compared are keys without NaN, for which < is no order");
        if (key == 0 && std::signbit(key)) throw Skip("compared are keys without -0: std::sort is not stable");
      }
    }
  }
};

}  // namespace tessera::compare
