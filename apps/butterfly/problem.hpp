#pragma once
/// \file
/// butterfly: the elements of a segment exchange values.
///
/// - pair_swap: out[i] = in[i xor 1], i the position in the segment; a last element without a partner stays the same;
/// - max: every element gets its segment's maximum;
/// - minmax_parity: even positions in the segment get its maximum, odd positions its minimum.

#include <cstdint>
#include <vector>

#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/segment_shape.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/halo.hpp>

namespace tessera::butterfly {

enum class ButterflyOp : std::uint8_t { pair_swap, max, minmax_parity };

struct Parameters {
  ButterflyOp op = ButterflyOp::max;
  std::int64_t segment = 32;
  std::int64_t team = 0;
  std::size_t first = 0;  ///< first element's index; not 0 in references of a part of the array (core/problem.hpp)

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {
        {&Parameters::op,
         {.name = "op",
          .help =
              "pair_swap: in[i xor 1]; max: the segment's maximum; minmax_parity: its maximum at even positions, its "
              "minimum at odd ones"},
         {{"pair_swap", ButterflyOp::pair_swap},
          {"max", ButterflyOp::max},
          {"minmax_parity", ButterflyOp::minmax_parity}}},
        {&Parameters::segment, held_segment_parameter()},
        {&Parameters::team, team_parameter()}};
  }
};

struct Butterfly : ArrayProblem<Parameters> {
  static constexpr AppInfo info{
      .name = "butterfly",
      .summary = "every element gets its segment's maximum (or minimum, or its partner's value)",
      .traffic = {.pattern = Traffic::Pattern::segments}};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// One comparison per element and extreme.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    double const comparisons =
        parameters.op == ButterflyOp::pair_swap ? 0 : (parameters.op == ButterflyOp::max ? 1 : 2);
    return {.bytes = 2 * n * static_cast<double>(size_of(dtype)), .flops = comparisons * n};
  }

  /// Returns the shape for variants that fold a segment in registers or scratch. Throws Skip if the whole array is one
  /// segment to fold.
  template <class T, class Memory>
  [[nodiscard]] static SegmentShape shape_of(Input<T, Memory> const& input) {
    Parameters const& parameters = input.parameters;
    if (parameters.segment == 0 && parameters.op != ButterflyOp::pair_swap) {
      throw Skip(
          "segment 0 (this variant holds whole segments, and the whole array does not fit); use --variant "
          "reduce_broadcast");
    }
    return {.n = input.in.extent(0), .segment = static_cast<std::size_t>(parameters.segment), .team = parameters.team};
  }

  /// Values move and are compared; nothing is rounded.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  /// Several ranks share the input in blocks. A segment needs all of its elements, whichever ranks have them.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static ranks::Reach reach(std::vector<Shape> const& input, Parameters const& parameters) {
    std::size_t const most = parameters.segment == 0 ? input[0][0] : static_cast<std::size_t>(parameters.segment) - 1;
    return {most, most};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::butterfly
