#pragma once
/// \file
/// Shared by products on warpgroups: the check that code and device have warpgroups, and the store of a lane's sums.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <string>

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/warpgroup.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/gemm/store_four.hpp>

namespace tessera::kernels::detail {

/// Sets `has` to 1 if the code that the device runs contains Warpgroup's instructions, that is, if it was compiled for
/// compute capability 9.0a. `Kernel` is any type of the caller: it keeps the answers of two files separate, which may
/// be compiled for different devices.
template <class Kernel>
struct AskForWarpgroups {
  KOKKOS_FUNCTION void operator()(std::size_t, int& has) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    has = 1;
#else
    has = 0;
#endif
  }
};

/// Throws Skip if the code lacks these instructions, or if the device has another compute capability. It launches a
/// kernel and waits.
template <class Kernel, ExecutionSpace Exec>
void require_warpgroups([[maybe_unused]] Exec const& exec) {
  int has = 0;
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::same_as<Exec, Kokkos::Cuda>) {
    if (exec.cuda_device_prop().major == 9) {
      Kokkos::parallel_reduce("tessera::ask_for_warpgroups", over(exec, 1), AskForWarpgroups<Kernel>{}, has);
    }
  }
#endif
  if (has == 0) {
    throw Skip("no warpgroups (CUDA has them for compute capability 9.0, in a build for 9.0a; " +
               std::string(space_name<Exec>()) + " here does not)");
  }
}

/// Stores a thread's sums of a tile of c, strips of 64 x 128 elements below each other. b's panel must store the even
/// columns of each 16 before the odd ones. `by_packs`: rows of c, `cols` long, can be written four elements at a time.
template <class Products, class Lanes, class Sums, int strips, class Store>
KOKKOS_INLINE_FUNCTION void store_panel_sums(Lanes const& lanes, Sums (&sums)[strips], float* c,
                                             collective::MatrixTiles::Place const& place, std::size_t cols, int thread,
                                             Store const& store, bool by_packs) {
  unrolled<strips>([&](int s) {
    lanes.each(
        [&](int lane, collective::WarpgroupSums const& own) {
          unrolled<8, 2>([&](int i, int half) {  // a lane's sums of 16 columns and two rows: even columns first
            int const col = i * 16 + lane % 4 * 4;
            int const row = s * Products::rows + Products::row_of_c(thread, lane, 2 * half);
            if (row >= place.row_count || col >= place.col_count) return;
            std::size_t const first = place.col + col;
            float const* const even = own.at + 8 * i + 2 * half;
            float const* const odd = even + 4;
            store_four(c, (place.row + row) * cols + first, first,
                       place.col_count - col < 4 ? place.col_count - col : 4, {even[0], odd[0], even[1], odd[1]}, store,
                       by_packs);
          });
        },
        sums[s]);
  });
}

}  // namespace tessera::kernels::detail
