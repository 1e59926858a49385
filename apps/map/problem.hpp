#pragma once
/// \file
/// map: out[i] = a[i] + c.

#include <cstdint>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/array_problem.hpp>
#include <tessera/core/constant_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/types.hpp>

namespace tessera::map {

struct Parameters {
  double c = 10;
  std::int64_t tile = 0;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {{&Parameters::c, constant_parameter()},
            {&Parameters::tile,
             tile_parameter("elements of a tile (team_guarded, scratch); 0: the variant's choice", 1 << 20)},
            {&Parameters::team, team_parameter()}};
  }
};

/// One addition per element.
struct Map : ArrayProblem<Parameters>, ConstantProblem {
  static constexpr AppInfo info{
      .name = "map", .summary = "out[i] = a[i] + c", .traffic = {.pattern = Traffic::Pattern::nothing}};

  /// a [n].
  template <class T, class Memory>
  using Input = SingleInput<T const*, Memory, Parameters>;

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

using collective::AddConstant;

}  // namespace tessera::map
