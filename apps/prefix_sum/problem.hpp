#pragma once
/// \file
/// prefix_sum: out[i] = in[0] + ... + in[i], or its exclusive, segmented, max and min forms.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>

namespace tessera::prefix_sum {

struct Parameters {
  bool exclusive = false;
  collective::OperatorKind op = collective::OperatorKind::sum;
  std::size_t segment = 0;
  std::int64_t tile = 0;
  std::int64_t team = 0;
  bool totals = false;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    using collective::OperatorKind;
    return {
        {&Parameters::exclusive, {.name = "exclusive", .help = "leave each element out of its own result"}},
        {&Parameters::op,
         {.name = "op", .help = "the operator"},
         {{"sum", OperatorKind::sum}, {"max", OperatorKind::max}, {"min", OperatorKind::min}}},
        {&Parameters::segment, segment_parameter()},
        {&Parameters::tile, tile_parameter()},
        {&Parameters::team, team_parameter()},
        {&Parameters::totals,
         {.name = "totals",
          .help = "also store the total of each tile (if the variant has them); needs --tile, excludes --segment"}}};
  }

  /// Throws UserError if the totals of tiles are asked for, and the tiles are not known or segments exist.
  void check() const {
    if (totals && tile == 0) {
      throw UserError("--totals without --tile (each variant chooses another tile); give --tile N");
    }
    if (totals && segment != 0) {
      throw UserError("--totals with segments (a tile may hold several); leave out one of the two");
    }
  }

  /// Returns the number of totals that are stored for n elements.
  [[nodiscard]] std::size_t totals_of(std::size_t n) const {
    return totals ? tiles_of(n, static_cast<std::size_t>(tile)) : 0;
  }
};

struct PrefixSum : ArrayProblem<Parameters> {
  static constexpr AppInfo info{.name = "prefix_sum",
                                .summary = "out[i] = in[0] + ... + in[i] (or max, min; exclusive; by segments)",
                                .traffic = {.pattern = Traffic::Pattern::totals, .launches = 2, .word_bytes = 8}};

  /// out [n]; totals [tiles] (or [0]): the total of each tile by itself.
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> out;
    Array<T*, Memory> totals;

    static constexpr std::array<std::string_view, 2> names{"out", "totals"};
    static auto fields(auto& self) { return std::tie(self.out, self.totals); }
  };

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const& parameters) {
    return {input[0], {parameters.totals_of(count_of(input[0]))}};
  }

  static constexpr std::array data = data_kinds;
  static constexpr int exact_reference_doubles = 1;
  static constexpr bool own_parts = true;

  /// Exact: whole numbers from -64 to 64, whose sums are a random walk. In 2^32 steps it spans about 2^22, so that the
  /// sum of any range is exact in float (the reference proves it). For max and min the numbers rise or fall by 2^23 in
  /// total, plus a random number below 2^10, so that the extreme changes up to the end.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const& parameters) {
    if (draw.data != DataKind::exact) return drawn<T>(draw);
    std::uint64_t const bits = random_bits(draw.seed, draw.field, draw.index) >> 32;
    if (parameters.op == collective::OperatorKind::sum) {
      return static_cast<T>(static_cast<std::int32_t>((bits * 129) >> 32) - 64);
    }
    double const way = static_cast<double>(draw.index) / static_cast<double>(draw.terms);
    auto const rise = static_cast<std::int32_t>(way * 0x1p23) + static_cast<std::int32_t>(bits % 1024);
    return static_cast<T>(parameters.op == collective::OperatorKind::max ? rise : -rise);
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));  // totals do not count: not every variant writes them
    return {.bytes = 2 * n * static_cast<double>(size_of(dtype)), .flops = n};
  }

  /// Assumes the worst order: n additions one after the other.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return static_cast<double>(count_of(input[0]));
  }

  /// How several ranks share the input.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows, Split::whole}; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::prefix_sum
