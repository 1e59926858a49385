#pragma once

#include <string>
#include <vector>

namespace tessera {

/// Checks what Kokkos would read from its options and from the environment (KOKKOS_..., OMP_NUM_THREADS), since it
/// aborts at what it does not understand. Unknown options pass: Kokkos says a word itself. Throws UserError.
void check_kokkos_words(std::vector<std::string> const& kokkos_arguments);

}  // namespace tessera
