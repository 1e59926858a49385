#pragma once
/// \file
/// The matrix of scores [queries, keys], for variants that store it.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include "problem.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera::attention {

template <ExecutionSpace Exec, class T>
using Scores = Kokkos::View<T**, Kokkos::LayoutRight, typename Exec::memory_space>;

/// Throws Skip if the scores take more than 16 GiB or more than the free memory; the fused variants store no scores.
template <ExecutionSpace Exec, class T>
[[nodiscard]] Scores<Exec, T> allocate_scores(InputOn<Attention, Exec, T> const& input) {
  std::size_t const queries = input.q.extent(0);
  std::size_t const keys = input.k.extent(0);
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  double const needed = static_cast<double>(queries) * static_cast<double>(keys) * sizeof(T) / gib;
  if (needed > 16) {
    throw Skip("the scores take " + std::to_string(static_cast<std::int64_t>(needed)) +
               " GiB (at most 16); use a fused variant, which stores none");
  }
  // The memory check before the run does not include a variant's own buffers.
  double const free = free_memory_bytes(std::string(space_name<Exec>())) / gib;
  if (needed > free) {
    throw Skip("the scores take " + std::to_string(needed) + " GiB (" + std::to_string(free) +
               " are free); use a fused variant, which stores none");
  }
  return Scores<Exec, T>(unset("tessera::attention::scores"), queries, keys);
}

}  // namespace tessera::attention
