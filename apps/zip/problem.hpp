#pragma once
/// \file
/// zip: out[i] = a[i] + b[i].

#include <cstdint>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/pair_problem.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/types.hpp>

namespace tessera::zip {

struct Parameters {
  std::int64_t tile = 0;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {{&Parameters::tile,
             tile_parameter("elements of a contiguous tile, packs for manual_vector; 0: the variant's choice")},
            {&Parameters::team, team_parameter()}};
  }
};

/// One addition per element.
struct Zip : PairProblem<Parameters>, ElementwiseProblem<3, 1> {
  static constexpr AppInfo info{
      .name = "zip", .summary = "out[i] = a[i] + b[i]", .traffic = {.pattern = Traffic::Pattern::nothing}};

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Adds a pair of elements, in every variant; integers wrap.
template <class T>
using Add = collective::Sum<T>;

}  // namespace tessera::zip
