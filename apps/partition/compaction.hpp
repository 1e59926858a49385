#pragma once
/// \file
/// For variants that keep only the left elements: the input that they accept, their output, and their traffic.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "predicate.hpp"
#include "problem.hpp"

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/table/app.hpp>

namespace tessera::partition {

/// Throws Skip unless the n elements are one segment, so that there is one left part and one count.
inline void expect_one_segment(Parameters const& parameters, std::size_t n) {
  std::size_t const segments = parameters.segments(n);
  if (segments != 1) {
    throw Skip(std::to_string(segments) + " segments (only a single segment can be compacted)");
  }
}

/// \param first on several ranks, the place of the rank's first element
[[nodiscard]] inline std::vector<WrittenField> left_part(std::size_t first) {
  return {{.field = "values", .count_field = "left_count", .first = first}, {.field = "left_count"}};
}

/// Returns the work: n elements read, the left elements written. Counts the left elements of `in` with a launch and
/// waits for it.
template <ExecutionSpace Exec, class T>
[[nodiscard]] Work compaction_work(Exec const& exec, InputOn<Partition, Exec, T> const& input) {
  LessThanPivot<T> const is_left(input.parameters.pivot);
  auto const in = input.in;
  std::int64_t lefts = 0;
  Kokkos::parallel_reduce(
      "tessera::partition::count_lefts", over(exec, in.extent(0)),
      KOKKOS_LAMBDA(std::size_t i, std::int64_t& sum) { sum += is_left(in(i)) ? 1 : 0; }, lefts);
  auto const n = static_cast<double>(in.extent(0));
  return {.bytes = (n + static_cast<double>(lefts)) * sizeof(T), .flops = n};
}

}  // namespace tessera::partition
