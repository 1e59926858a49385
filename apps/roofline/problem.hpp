#pragma once
/// \file
/// roofline: the peaks of the machine, one per variant: the bandwidths of copy, triad, read and write, the peaks of
/// multiply-adds and of matrix units, the time of a launch.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/balanced.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/pair_problem.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/measure/roof_kernels.hpp>

namespace tessera::roofline {

struct Parameters {
  double s = 0.5;
  std::int64_t iterations = 4096;
  std::int64_t scratch = 16384;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {{&Parameters::s, {.name = "s", .help = "factor of triad, a + s * b; int32 truncates it"}},
            // A float counts exactly up to here.
            {&Parameters::iterations, number_parameter("iterations", "multiply-adds per chain", 0, (1 << 24) - 256)},
            {&Parameters::scratch,
             tuning_parameter("scratch", "triad_scratch: bytes of scratch per team; 0: none", 0, 1 << 20)}};
  }
};

/// The work of triad, the only variant that both moves data and computes: a multiplication and an addition per
/// element. Each variant reports its own work.
struct Roofline : PairProblem<Parameters>, PerElement<3, 2> {
  static constexpr AppInfo info{.name = "roofline",
                                .summary = "bandwidth of copy, triad and read; peaks of arithmetic; time of a launch",
                                .measures_roofs = true};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;
  static constexpr bool own_parts = true;

  /// copied [n], triad [n], sum [], chains [min(n, 2^19)], launched [], written [n]. Each variant writes one of them.
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> copied;
    Array<T*, Memory> triad;
    Array<T, Memory> sum;
    Array<T*, Memory> chains;
    Array<T, Memory> launched;
    Array<T*, Memory> written;

    static constexpr std::array<std::string_view, 6> names{"copied", "triad", "sum", "chains", "launched", "written"};
    static auto fields(auto& self) {
      return std::tie(self.copied, self.triad, self.sum, self.chains, self.launched, self.written);
    }
  };

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    needs_equal_lengths(input, "triad adds them element by element");
    std::size_t const chains = std::min<std::size_t>(count_of(input[0]), measure::most_chains);
    return {input[0], input[0], {}, {chains}, {}, input[0]};
  }

  /// Throws UserError if the dtype cannot hold s.
  static void check(Parameters const& parameters, DType dtype) {
    double const most = std::numeric_limits<std::int32_t>::max();
    if (dtype == DType::int32 && std::abs(parameters.s) > most) {
      throw UserError("s = " + shortest_text(parameters.s) +
                      " does not fit (the run's dtype is int32); use a smaller one");
    }
  }

  /// Exact: a has the terms of core/balanced.hpp, and b 16 bits. With 16-bit floats b has 5 bits; if b were larger,
  /// triad's sum would round a away.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const&) {
    if (draw.data != DataKind::exact) return drawn<T>(draw);
    if (draw.field == 1) return whole_value<T>(draw, ShortFloat<T> ? 5 : 16);
    return exact_term<T>(draw, 0, draw.index);
  }
  /// Returns the number of terms of the sum.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const&) {
    return count_of(input[0]);
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::roofline
