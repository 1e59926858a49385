#pragma once
/// \file
/// --verify: how many of a row's results are checked, and which, where it is a sample.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tessera/core/types.hpp>

namespace tessera {

/// `--verify every|first|sample:N`.
struct VerifyOptions {
  enum class Kind : std::uint8_t {
    every,  ///< all elements of the first and of the last launch
    first,  ///< all elements of the first launch
    sample  ///< some elements of the first and of the last launch
  };
  Kind kind = Kind::every;
  std::size_t elements = 0;  ///< of a sample: about so many of each field
  std::uint64_t seed = 42;   ///< of a sample
};

/// Elements [begin, end) of a field.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Stretches of a field of `count` elements, about `elements` elements in all:
/// - the first and the last ones;
/// - those on both sides of each power of two, where indices wrap and where blocks and levels end;
/// - others drawn at random.
/// Each reaches over a multiple of 64, because edges of tiles are there. They are in order and do not overlap.
[[nodiscard]] std::vector<Stretch> sample_of(std::size_t count, std::size_t elements, std::uint64_t seed);

/// Elements of those stretches.
[[nodiscard]] inline std::size_t count_of(std::vector<Stretch> const& stretches) {
  std::size_t count = 0;
  for (Stretch const& one : stretches) count += one.end - one.begin;
  return count;
}

/// The elements of the stretches, one after another, as a field of their own.
[[nodiscard]] HostField gather(HostField const& field, std::vector<Stretch> const& stretches);
[[nodiscard]] ExpectedField gather(ExpectedField const& field, std::vector<Stretch> const& stretches);

}  // namespace tessera
