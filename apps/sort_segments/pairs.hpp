#pragma once
/// \file
/// Keys and their values, if there are any, that move together.

#include <cstddef>
#include <cstdint>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::sort_segments {

template <ExecutionSpace Exec, class T>
struct Pairs {
  ArrayOn<T*, Exec> keys;
  ArrayOn<std::int32_t*, Exec> values;  // [0] if there are none

  /// Makes a copy of pair j of `from`, which has as many values, to pair i.
  template <class From>
  KOKKOS_FUNCTION void take(std::size_t i, From const& from, std::size_t j) const {
    keys(i) = from.keys(j);
    if (values.extent(0) > 0) values(i) = from.values(j);
  }
};

/// Returns pairs as many as the input has.
template <ExecutionSpace Exec, class T>
[[nodiscard]] Pairs<Exec, T> spare_pairs(InputOn<SortSegments, Exec, T> const& input) {
  return {ArrayOn<T*, Exec>(unset("tessera::sort_segments::keys"), input.keys.extent(0)),
          ArrayOn<std::int32_t*, Exec>(unset("tessera::sort_segments::values"), input.values.extent(0))};
}

}  // namespace tessera::sort_segments
