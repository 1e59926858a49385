#pragma once
/// \file
/// The Plan of warpgroup_fp16 and warpgroup_bf16.

#include "half_product.hpp"

#include <tessera/kernels/warpgroup_gemm.hpp>

namespace tessera::matmul {

/// Throws Skip if there are no warpgroups, and if HalfPlan does.
template <class Exec, class Factor>
using WarpgroupPlan = HalfPlan<Exec, Factor, kernels::WarpgroupGemm<Exec, Factor>, kernels::WarpgroupTile<>::lanes>;

}  // namespace tessera::matmul
