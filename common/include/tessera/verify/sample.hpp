#pragma once
/// \file
/// --verify: how many of a row's results are checked, and which elements are sampled.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tessera/core/types.hpp>

namespace tessera {

/// `--verify every|first|sample:N`.
struct VerifyOptions {
  enum class Kind : std::uint8_t {
    every,  ///< all elements of the first and the last launch
    first,  ///< all elements of the first launch
    sample  ///< some elements of the first and the last launch
  };
  Kind kind = Kind::every;
  std::size_t elements = 0;  ///< of a sample: approximate number of elements per field
  std::uint64_t seed = 42;   ///< of a sample
};

/// Elements [begin, end) of a field.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Returns stretches of a field of `count` elements, about `elements` elements in total:
/// - the first and the last elements;
/// - the elements on both sides of each power of two, where indices wrap and where blocks and levels end;
/// - other elements drawn at random.
///
/// Each stretch contains a multiple of 64, because edges of tiles are there. The stretches are in order and do not
/// overlap.
[[nodiscard]] std::vector<Stretch> sample_of(std::size_t count, std::size_t elements, std::uint64_t seed);

/// Returns the number of elements in the stretches.
[[nodiscard]] inline std::size_t count_of(std::vector<Stretch> const& stretches) {
  std::size_t count = 0;
  for (Stretch const& one : stretches) count += one.end - one.begin;
  return count;
}

/// Returns the elements of the stretches, one after the other, as a separate field.
[[nodiscard]] HostField gather(HostField const& field, std::vector<Stretch> const& stretches);
[[nodiscard]] ExpectedField gather(ExpectedField const& field, std::vector<Stretch> const& stretches);

}  // namespace tessera
