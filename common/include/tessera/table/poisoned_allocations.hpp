#pragma once
/// \file
/// Fills memory that a Plan allocates, so that it contains no old results.

namespace tessera {

/// During its lifetime, memory of Views whose label begins with "tessera" is filled with bytes of 255 (a NaN, or -1)
/// before its first use. Views that Kokkos initialises keep their initial values. Without it, a Plan that reads memory
/// which it has not written would pass if an earlier Plan left the correct values at the same address. Requires a
/// Runtime. Objects must not nest. Loaded tools continue to see allocations.
class PoisonedAllocations {
 public:
  PoisonedAllocations();
  ~PoisonedAllocations();
  PoisonedAllocations(PoisonedAllocations const&) = delete;
  PoisonedAllocations& operator=(PoisonedAllocations const&) = delete;
};

}  // namespace tessera
