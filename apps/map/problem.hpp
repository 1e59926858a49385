#pragma once
/// \file
/// map: out[i] = a[i] + c.

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/array_problem.hpp>
#include <tessera/core/constant.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/spaces.hpp>
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
struct Map : ArrayProblem<Parameters>, PerElement<2, 1> {
  static constexpr AppInfo info{
      .name = "map", .summary = "out[i] = a[i] + c", .traffic = {.pattern = Traffic::Pattern::nothing}};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// a [n].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> a;
    Parameters parameters;

    static constexpr std::array<std::string_view, 1> names{"a"};
    static auto fields(auto& self) { return std::tie(self.a); }
  };

  /// Throws UserError if the dtype cannot hold c; nothing is converted silently.
  static void check(Parameters const& parameters, DType dtype) { check_constant("c", parameters.c, dtype); }

  /// How several ranks share the input.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows}; }
  static constexpr bool rows_apart = true;

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Adds c to an element, in every variant; integers wrap.
template <class T>
struct AddConstant {
  T c;
  [[nodiscard]] KOKKOS_FUNCTION T operator()(T const& value) const { return collective::Sum<T>{}(value, c); }
};

}  // namespace tessera::map
