#pragma once

#include <string>
#include <vector>

namespace tessera {

/// Checks Kokkos' options and environment variables (KOKKOS_..., OMP_NUM_THREADS) before Kokkos reads them, because
/// Kokkos aborts at an invalid value. Unknown options pass: Kokkos warns about them. Throws UserError.
void check_kokkos_words(std::vector<std::string> const& kokkos_arguments);

}  // namespace tessera
