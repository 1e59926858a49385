#pragma once
/// \file
/// stencil_chain: several stages one after the other, each a factor times the mean of an element and its neighbours.

#include <cstdint>
#include <vector>

#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/types.hpp>

namespace tessera::stencil_chain {

/// filters: 1.1 times the element, the mean of five elements, the mean of three. averages: means of three, repeated.
enum class ChainKind : std::uint8_t { filters, averages };

struct Parameters {
  ChainKind chain = ChainKind::filters;
  std::int64_t iterations = 3;
  std::int64_t tile = 0;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {
        {&Parameters::chain,
         {.name = "chain", .help = "stages: filters (scale, blur, smooth) or averages (of three)"},
         {{"filters", ChainKind::filters}, {"averages", ChainKind::averages}}},
        {&Parameters::iterations,
         number_parameter("iterations", "stages of the chain averages, 1 to 64; the chain filters ignores it", 1, 64)},
        {&Parameters::tile, tile_parameter("elements of a tile; 0: the variant's choice", 1 << 20)},
        {&Parameters::team, team_parameter()}};
  }
};

struct StencilChain : ArrayProblem<Parameters> {
  static constexpr AppInfo info{.name = "stencil_chain",
                                .summary = "out = in after several stages: means of neighbours times a factor"};

  static constexpr int reference_doubles = 3;
  static constexpr bool own_parts = true;

  /// Throws UserError for int32.
  static void check(Parameters const&, DType dtype) {
    if (dtype != DType::int32) return;
    throw UserError("stencil_chain of int32 (a mean of integers is not an integer); use dtype float or double");
  }

  /// Each array is moved once. A stage of m elements has m - 1 additions and a multiplication.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    double const operations =
        parameters.chain == ChainKind::filters ? 1 + 5 + 3 : 3 * static_cast<double>(parameters.iterations);
    return {.bytes = 2 * n * static_cast<double>(size_of(dtype)), .flops = operations * n};
  }

  /// A mean of m elements has m - 1 additions, the rounding of its weight, and the multiplication by it; the weight of
  /// one element is exact.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const& parameters) {
    return parameters.chain == ChainKind::filters ? 1 + 6 + 4 : 4 * static_cast<double>(parameters.iterations);
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::stencil_chain
