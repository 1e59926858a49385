#pragma once
/// \file
/// The common part of mini-apps that apply a stencil to an element and the elements that follow it in its segment.

#include <cstddef>
#include <cstdint>

#include <tessera/core/array_problem.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/segment_shape.hpp>
#include <tessera/core/shared_by_rows.hpp>

namespace tessera {

struct StencilParameters {
  std::size_t segment = 0;
  std::int64_t tile = 0;
  std::int64_t team = 0;
  std::size_t first = 0;  ///< index of the first element, in the reference of a part of the array (core/problem.hpp)

  [[nodiscard]] static MemberSpecs<StencilParameters> specs() {
    return {{&StencilParameters::segment, segment_parameter()},
            {&StencilParameters::tile, tile_parameter()},
            {&StencilParameters::team, team_parameter()}};
  }
};

/// Base class of these Problems.
struct StencilProblem : ArrayProblem<StencilParameters>, SharedByRows<Split::rows> {
  /// Returns the shape for launches of kernels whose lanes or threads share elements.
  template <class T, class Memory>
  [[nodiscard]] static SegmentShape shape_of(Input<T, Memory> const& input) {
    return {.n = input.in.extent(0),
            .segment = input.parameters.segment,
            .tile = input.parameters.tile,
            .team = input.parameters.team};
  }
};

}  // namespace tessera
