#pragma once
/// \file
/// memory_access: n elements moved, with one access pattern per variant: contiguous, strided, gathered, scattered,
/// through banks of scratch, by branches that diverge, with prefetches, misaligned, off a 16-byte boundary.

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::memory_access {

/// The rule by which an element takes a branch.
enum class Branch : std::uint8_t { lane, warp, element, first, quads, nested };

struct Parameters {
  std::int64_t stride = 8;
  std::int64_t spread = 32;
  std::int64_t rounds = 8;
  Branch branch = Branch::lane;
  std::int64_t branches = 4;
  std::int64_t iterations = 64;
  std::int64_t distance = 8;
  std::int64_t offset = 1;
  std::int64_t bytes = 4;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {
        {&Parameters::stride,
         tuning_parameter("stride", "strided: elements from one index to the next, 1 to 64", 1, 64)},
        {&Parameters::spread,
         number_parameter(
             "bank-stride",
             "banks: elements of scratch from one lane to the next, 1 to 32; 0: all lanes read the same element", 0,
             32)},
        {&Parameters::rounds,
         number_parameter("rounds", "banks: passes of a tile through scratch, 1 to 1024", 1, 1024)},
        {&Parameters::branch,
         {.name = "branch", .help = "divergence: what decides which branch is taken"},
         {{"lane", Branch::lane},
          {"warp", Branch::warp},
          {"element", Branch::element},
          {"first", Branch::first},
          {"quads", Branch::quads},
          {"nested", Branch::nested}}},
        {&Parameters::branches, number_parameter("branches", "divergence: number of branches, 1 to 32", 1, 32)},
        {&Parameters::iterations,
         number_parameter("iterations", "divergence: multiplications and additions per branch, 0 to 65536", 0, 65536)},
        {&Parameters::distance,
         tuning_parameter("distance", "prefetch: steps from the prefetch to its use, 0 (none) to 256", 0, 256)},
        {&Parameters::offset,
         tuning_parameter("offset", "misaligned: elements from an aligned address, 0 to 15", 0, 15)},
        {&Parameters::bytes, tuning_parameter("bytes", "off_boundary: bytes from a 16-byte boundary, 0 to 15", 0, 15)},
        {&Parameters::team, team_parameter()}};
  }
};

/// Each variant copies elements in its own way and reports its own work. The work of the case is one plain copy.
struct MemoryAccess : ArrayProblem<Parameters>, PerElement<2, 0> {
  static constexpr AppInfo info{.name = "memory_access",
                                .summary = "n elements moved by strides, permutations, banks, branches, prefetches"};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// All [n]: copied, gathered, scattered, staged, diverged. Each variant writes one of them.
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> copied;
    Array<T*, Memory> gathered;
    Array<T*, Memory> scattered;
    Array<T*, Memory> staged;
    Array<T*, Memory> diverged;

    static constexpr std::array<std::string_view, 5> names{"copied", "gathered", "scattered", "staged", "diverged"};
    static auto fields(auto& self) {
      return std::tie(self.copied, self.gathered, self.scattered, self.staged, self.diverged);
    }
  };

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return std::vector<Shape>(5, input[0]);
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Returns the factor a of the permutation i -> (i * a) mod n: the first number from 0.618034 n on that is coprime to
/// n. Neighbours are then so far apart that no two lanes of a warp share a sector. A sector is touched again only after
/// about the golden section of the whole array.
///
/// Example: 10 -> 7, so 0 1 2 3 4 5 6 7 8 9 become 0 7 4 1 8 5 2 9 6 3.
[[nodiscard]] inline std::uint64_t permutation_factor(std::uint64_t n) {
  std::uint64_t factor = std::max<std::uint64_t>(1, n * 618034 / 1000000);
  while (std::gcd(factor, n) > 1) ++factor;
  return factor;
}

/// Elements per tile that `banks` moves through scratch.
inline constexpr int bank_tile = 1024;

/// Returns the place that `banks` reads for place t in a tile of `count` elements.
///
/// Example, tile of 1024, stride 32: 0 -> 0, 1 -> 32, 31 -> 992, 32 -> 1. All lanes of a warp read the same bank, and
/// every place is read once.
[[nodiscard]] KOKKOS_INLINE_FUNCTION int bank_place(int t, int count, int stride) {
  auto const far = static_cast<unsigned>(t) * static_cast<unsigned>(stride);
  // A whole tile needs only shifts: a division would take longer than the bank conflict.
  constexpr auto whole = static_cast<unsigned>(bank_tile);
  auto const size = static_cast<unsigned>(count);
  unsigned const place = size == whole ? (far + far / whole) % whole : (far + far / size) % size;
  return static_cast<int>(place);
}

/// Returns the branch of element i, 0 .. branches - 1. It changes with each lane, with every 32 elements, or at random
/// (element). Lane 0 of 32 has one of its own (first); four lanes take one, and the next four another (quads); a random
/// condition leads to branch 0, or to a second condition between branches 1 and 2 (nested).
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint32_t branch_of(std::uint32_t i, Branch branch, std::uint32_t branches) {
  if (branch == Branch::lane) return i % branches;
  if (branch == Branch::warp) return i / 32 % branches;
  if (branch == Branch::first) return (i % 32 == 0 ? 0u : 1u) % branches;
  if (branch == Branch::quads) return i / 4 % 2 % branches;
  std::uint32_t const mixed = i * 2654435761u;
  std::uint32_t const random = (mixed ^ (mixed >> 15)) * 2246822519u >> 16;
  if (branch == Branch::nested) return (random % 2 == 0 ? 0u : 1u + random / 2 % 2) % branches;
  return random % branches;
}

}  // namespace tessera::memory_access
