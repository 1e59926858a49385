#pragma once
/// \file
/// The permutation that gather, scatter and prefetch use. It is stored in memory, like an application's indices.

#include <cstddef>
#include <cstdint>

#include "model.hpp"

namespace tessera::memory_access {

template <ExecutionSpace Exec>
using Indices = Kokkos::View<std::uint32_t*, typename Exec::memory_space>;

/// index [n]: (i * permutation_factor(n)) mod n. Throws Skip if an index needs more than 32 bits.
template <ExecutionSpace Exec>
[[nodiscard]] Indices<Exec> permutation(Exec const& exec, std::size_t n) {
  if (n > std::size_t{1} << 32) {
    throw Skip("more than 2^32 elements (the indices have 32 bits)");
  }
  Indices<Exec> index(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "tessera::memory_access::index"), n);
  std::uint64_t const factor = permutation_factor(n);
  std::uint64_t const length = n;
  Kokkos::parallel_for(
      "tessera::memory_access::permutation", over(exec, n), KOKKOS_LAMBDA(std::size_t i) {
        index(i) = static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) * factor % length);
      });
  exec.fence("tessera::memory_access: permutation");
  return index;
}

/// The indices and the report of the Plans that use the permutation.
template <ExecutionSpace Exec, class T>
class OfPermutation : public Told {
 public:
  OfPermutation(Exec const& exec, char const* field, std::size_t n)
      : Told(machine_of<Exec>(), field, n, 2 * sizeof(T) + sizeof(std::uint32_t)), index_(permutation(exec, n)) {
    std::uint64_t const factor = permutation_factor(n);
    double const far = units_together(machine(), n, sizeof(T),
                                      [=](std::size_t i) { return static_cast<std::size_t>(i * factor % n); });
    double const along = units_together(machine(), n, sizeof(T), [](std::size_t i) { return i; });
    double const indices = units_together(machine(), n, sizeof(std::uint32_t), [](std::size_t i) { return i; });
    tell_units(far, moved_by(far + along + indices, n));
  }

 protected:
  Indices<Exec> index_;
};

}  // namespace tessera::memory_access
