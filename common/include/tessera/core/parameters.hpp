#pragma once
/// \file
/// Parameters that many mini-apps share, with the same help text and limits.

#include <cstdint>

#include <tessera/core/info.hpp>

namespace tessera {

/// --rows, for generated matrices.
[[nodiscard]] inline ParameterSpec rows_parameter() {
  return {.name = "rows",
          .help = "rows of the generated matrix, of --size / rows columns; 0: about square",
          .default_value = std::int64_t{0},
          .choices = {},
          .minimum = 0,
          .shapes_generated = true};
}

/// --segment, for segments of any length.
[[nodiscard]] inline ParameterSpec segment_parameter() {
  return {.name = "segment",
          .help = "elements of a segment; 0: the whole array is one",
          .default_value = std::int64_t{0},
          .choices = {},
          .minimum = 0};
}

/// --segment, for segments that are held as a whole in registers or scratch.
[[nodiscard]] inline ParameterSpec held_segment_parameter() {
  return {.name = "segment",
          .help = "elements of a segment, 1 to 1024; 0: the whole array is one",
          .default_value = std::int64_t{32},
          .choices = {},
          .minimum = 0,
          .maximum = 1024};
}

/// --eps, of a normalisation.
[[nodiscard]] inline ParameterSpec eps_parameter() {
  return {.name = "eps",
          .help = "added to each row's variance; above 0",
          .default_value = 1e-5,
          .choices = {},
          .in_arithmetic = true};
}

[[nodiscard]] inline ParameterSpec tile_parameter() {
  return {.name = "tile",
          .help = "elements that a team works on at a time; 0: the variant's choice",
          .default_value = std::int64_t{0},
          .choices = {},
          .minimum = 0,
          .maximum = 1 << 30,
          .sweep = true};
}

[[nodiscard]] inline ParameterSpec team_parameter() {
  return {.name = "team",
          .help = "threads of a team; 0: the variant's choice",
          .default_value = std::int64_t{0},
          .choices = {},
          .minimum = 0,
          .maximum = 1 << 20,
          .sweep = true};
}

}  // namespace tessera
