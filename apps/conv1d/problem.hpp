#pragma once
/// \file
/// conv1d: out[i] = sum of a[i + j] * k[j] over all j with i + j < n.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/collective/accumulator.hpp>
#include <tessera/core/convolution_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/halo.hpp>

namespace tessera::conv1d {

struct Conv1d : ConvolutionProblem {
  static constexpr AppInfo info{.name = "conv1d",
                                .summary = "out[i] = a[i] * k[0] + a[i+1] * k[1] + ..., while i + j < n",
                                .traffic = {.pattern = Traffic::Pattern::halo, .launches = 2}};

  struct Parameters {
    std::int64_t kernel = 4;
    std::int64_t tile = 0;
    std::int64_t team = 0;

    [[nodiscard]] static MemberSpecs<Parameters> specs() {
      return {{&Parameters::kernel, extent_parameter("kernel", "elements of the generated k", 1)},
              {&Parameters::tile,
               tile_parameter("elements of a tile (teams with a halo, and register_window); 0: the variant's choice",
                              1 << 20)},
              {&Parameters::team, team_parameter()}};
    }
  };

  /// a [n], k [taps].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> a;
    Array<T const*, Memory> k;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"a", "k"};
    static auto fields(auto& self) { return std::tie(self.a, self.k); }
  };

  /// out [n].
  template <class T, class Memory>
  using Output = SingleOutput<T*, Memory>;

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    return {{size}, {static_cast<std::size_t>(parameters.kernel)}};
  }

  /// Assumes the worst order: one multiplication, then one addition after the other.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return std::max(1.0, static_cast<double>(std::min(count_of(input[0]), count_of(input[1]))));
  }

  [[nodiscard]] static ranks::Reach reach(std::vector<Shape> const& input, Parameters const&) {
    return {.behind = count_of(input[1]) - 1};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

using collective::Accumulator;
using collective::product;

/// Returns the number of elements of k that meet an element of a.
template <class View>
[[nodiscard]] std::size_t taps_of(View const& a, View const& k) {
  return std::min(a.extent(0), k.extent(0));
}

}  // namespace tessera::conv1d
