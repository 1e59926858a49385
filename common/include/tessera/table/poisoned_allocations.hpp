#pragma once
/// \file
/// Memory that a Plan allocates, without anything that it may have held before.

namespace tessera {

/// From construction to destruction, memory of Views whose label begins with "tessera" is filled with bytes of 255 (a NaN, or -1)
/// before its first use. Views that Kokkos initialises are what they would be without. Otherwise a Plan that reads what it has not
/// written would pass if a Plan before it left the right values at the same address. Needs a Runtime. Objects do not nest. Tools
/// that are loaded go on seeing allocations.
class PoisonedAllocations {
 public:
  PoisonedAllocations();
  ~PoisonedAllocations();
  PoisonedAllocations(PoisonedAllocations const&) = delete;
  PoisonedAllocations& operator=(PoisonedAllocations const&) = delete;
};

}  // namespace tessera
