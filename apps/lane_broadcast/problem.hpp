#pragma once
/// \file
/// lane_broadcast: the first few elements of a segment enter into every result of that segment.
///
/// With x[0 .. L) the elements of a segment:
/// - basic: s = sum of the first min(4, L) elements, out = x + s;
/// - conditional: m = maximum of the first min(8, L) elements, out = 2x if x >= m/2, else x/2;
/// - shuffle: s = (sum of the first min(4, L) elements) / 4, out[i] = (x[i] + x[i+1]) * s, and x[i] * s for the last i.

#include <cstdint>
#include <type_traits>
#include <vector>

#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/segment_shape.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/halo.hpp>

namespace tessera::lane_broadcast {

enum class BroadcastOp : std::uint8_t { basic, conditional, shuffle };

struct Parameters {
  BroadcastOp op = BroadcastOp::basic;
  std::int64_t segment = 32;
  std::int64_t team = 0;
  std::size_t first = 0;  ///< first element's index; not 0 in references of a part of the array (core/problem.hpp)

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {
        {&Parameters::op,
         {.name = "op",
          .help = "basic: x + sum of the first 4; conditional: 2x or x/2 by the maximum of the first 8; "
                  "shuffle: (x + next) * mean of the first 4"},
         {{"basic", BroadcastOp::basic}, {"conditional", BroadcastOp::conditional}, {"shuffle", BroadcastOp::shuffle}}},
        {&Parameters::segment, held_segment_parameter()},
        {&Parameters::team, team_parameter()}};
  }
};

struct LaneBroadcast : ArrayProblem<Parameters> {
  static constexpr AppInfo info{.name = "lane_broadcast",
                                .summary = "out = x + sum of its segment's first 4 (or 2x or x/2; (x + next) * mean)",
                                .traffic = {.pattern = Traffic::Pattern::segments}};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;
  static constexpr int exact_reference_doubles = 1;

  /// Exact: whole numbers of 9 bits, so that sums of 5 of them, and products of a pair's sum and a mean, are exact; 24
  /// random bits if they are only compared.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const& parameters) {
    bool const summed = draw.data == DataKind::exact && parameters.op != BroadcastOp::conditional;
    return summed ? whole_value<T>(draw, 9) : drawn<T>(draw);
  }

  /// An addition, a multiplication, or both per element. Operations done once per segment do not count.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    return {.bytes = 2 * n * static_cast<double>(size_of(dtype)),
            .flops = n * (parameters.op == BroadcastOp::shuffle ? 2 : 1)};
  }

  /// basic: three additions for the sum, and one that adds the sum. shuffle: three additions for the sum, then an
  /// addition and a multiplication (the reference's offset holds the rounding error of the division by 4). conditional
  /// is exact.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const& parameters) {
    switch (parameters.op) {
      case BroadcastOp::basic: return 4;
      case BroadcastOp::shuffle: return 5;
      default: return 0;
    }
  }

  /// Returns the shape for the variants' kernels.
  template <class T, class Memory>
  [[nodiscard]] static SegmentShape shape_of(Input<T, Memory> const& input) {
    return {.n = input.in.extent(0),
            .segment = static_cast<std::size_t>(input.parameters.segment),
            .team = input.parameters.team};
  }

  /// Several ranks share the input in blocks. A segment needs all of its elements, whichever ranks have them. If the
  /// whole array is one segment, a rank needs all elements before its own and the next element after them.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static ranks::Reach reach(std::vector<Shape> const& input, Parameters const& parameters) {
    if (parameters.segment == 0) return {input[0][0], 1};
    std::size_t const most = static_cast<std::size_t>(parameters.segment) - 1;
    return {most, most};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Returns whether x >= max / 2, without rounding max / 2.
template <class T>
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool is_half_at_least(T x, T max) {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
  return static_cast<Wide>(x) >= static_cast<Wide>(max) - static_cast<Wide>(x);
}

}  // namespace tessera::lane_broadcast
