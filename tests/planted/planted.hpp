#pragma once
/// \file
/// What the kernels with mistakes inside share (planted.cmake makes them): which mistake is made, and where.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <memory>
#include <string>

#include "../apps/mistake_spaces.hpp"

#include <tessera/ranks/ranks.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera::planted {

/// The rows of a copied variant, of floats alone: one dtype shows what the others do.
/// Copies find it before tessera::rows.
template <class Problem, class Variant>
[[nodiscard]] VariantRows rows() {
  VariantRows result{.info = Variant::info, .rows = {}};
  for_each_type(EnabledSpaces{}, [&]<class Exec>() {
    if constexpr (is_chosen_space(space_name<Exec>()) && testing::shows_mistakes<Exec> &&
                  DeclaredFor<Variant, Exec, float>) {
      auto const start = [](Case& problem_case) -> std::unique_ptr<RowRun> {
        return std::make_unique<tessera::detail::TypedRun<Problem, Variant, Exec, float>>(
            dynamic_cast<tessera::detail::TypedCase<Problem, float>&>(problem_case));
      };
      result.rows.push_back({Variant::info, std::string(space_name<Exec>()), DType::float32, start});
    }
  });
  return result;
}

/// The mistake of kernels that are launched from here on; 0: none. The test sets it.
inline int chosen_mistake = 0;

/// The mistake, for a kernel's member: it is constructed on the host.
[[nodiscard]] KOKKOS_INLINE_FUNCTION int planted_mistake() {
  KOKKOS_IF_ON_HOST((return chosen_mistake;))
  KOKKOS_IF_ON_DEVICE((return 0;))
}

/// True for the part of n elements, from `begin` on, in which element 9/10 n lies: a late tile or chunk.
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool is_late(std::size_t begin, std::size_t size, std::size_t n) {
  std::size_t const late = n / 10 * 9;
  return begin <= late && late - begin < size;
}

/// True from that place on: for what only some runs show of one tile.
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool is_behind_late(std::size_t begin, std::size_t n) {
  return begin >= n / 10 * 9;
}

/// True for a late tile of a kernel whose teams take one tile each, if the tiles hold more than a million elements: not
/// for tiles of the tiles' totals.
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool is_late_tile(auto const& team, std::size_t tile) {
  auto const tiles = static_cast<std::size_t>(team.league_size());
  return static_cast<std::size_t>(team.league_rank()) == tiles / 10 * 9 && tiles * tile > 1000000;
}

/// True on one of several ranks: the last but one, which others need.
[[nodiscard]] inline bool is_late(tessera::ranks::Ranks const& ranks) { return ranks.rank() == ranks.count() - 2; }

}  // namespace tessera::planted

namespace tessera::testing {

/// The rows of a test.
enum class Spaces { all, hosts, gpus };

[[nodiscard]] inline bool are_among(Spaces spaces, Row const& row) {
  return spaces == Spaces::all || (spaces == Spaces::hosts) == is_host_space(row.space);
}

}  // namespace tessera::testing
