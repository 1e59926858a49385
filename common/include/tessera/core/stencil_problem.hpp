#pragma once
/// \file
/// The common part of mini-apps that apply a stencil to an element and the elements that follow it in its segment.

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/segment_shape.hpp>

namespace tessera {

struct StencilParameters {
  std::size_t segment = 0;  ///< elements; 0: the whole array is one segment
  std::int64_t tile = 0;    ///< elements; 0: the variant's choice
  std::int64_t team = 0;    ///< threads; 0: the variant's choice
  std::size_t first = 0;    ///< index of the first element, in the reference of a part of the array (core/problem.hpp)

  [[nodiscard]] static StencilParameters from(ParameterMap const& map) {
    return {.segment = static_cast<std::size_t>(std::get<std::int64_t>(map.at("segment"))),
            .tile = std::get<std::int64_t>(map.at("tile")),
            .team = std::get<std::int64_t>(map.at("team"))};
  }
};

/// Base class of these Problems.
struct StencilProblem : ArrayProblem<StencilParameters> {
  [[nodiscard]] static std::vector<ParameterSpec> parameters() {
    return {segment_parameter(), tile_parameter(), team_parameter()};
  }

  /// How the ranks share the input.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows}; }

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
