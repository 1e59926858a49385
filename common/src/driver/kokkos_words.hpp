#pragma once

#include <string>
#include <vector>

namespace tessera {

/// Checks Kokkos' options and environment variables (KOKKOS_..., OMP_NUM_THREADS) before Kokkos reads them, since it
/// aborts at a value that it does not understand. Unknown options pass: Kokkos warns of them itself. Throws UserError.
void check_kokkos_words(std::vector<std::string> const& kokkos_arguments);

}  // namespace tessera
