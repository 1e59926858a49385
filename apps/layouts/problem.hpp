#pragma once
/// \file
/// layouts: the same matrix in four layouts: by rows, by columns, by rows that begin at multiples of a pitch, and by
/// tiles.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/matrix_problem.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/per_element.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>

namespace tessera::layouts {

struct Parameters {
  std::int64_t rows = 0;
  std::int64_t pitch = 32;
  std::int64_t side = 8;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {{&Parameters::rows, rows_parameter()},
            {&Parameters::pitch,
             number_parameter("pitch", "stride: rows begin at multiples of this many elements, 1 to 4096", 1, 4096)},
            {&Parameters::side,
             number_parameter("side", "tiled: rows and columns of a tile, a power of two from 1 to 64", 1, 64)}};
  }

  /// Throws UserError unless the side is a power of two.
  void check() const {
    if ((side & (side - 1)) == 0) return;
    throw UserError("side = " + std::to_string(side) +
                    " is not a power of two (places in a tile are found by shifts); use 1, 2, 4 ... 64");
  }
};

/// Elements are copied. The work is that without padding; each variant reports its own.
struct Layouts : MatrixProblem<Parameters>, PerElement<2, 0> {
  static constexpr AppInfo info{.name = "layouts", .summary = "a[row, col] in memory by rows, columns, a pitch, tiles"};

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;
  static constexpr bool own_parts = true;

  /// The outputs in memory order: right [rows, cols], left [cols, rows], strided [rows, pitched cols], tiled [tiles
  /// down, tiles across, side, side]. Each variant writes one of them.
  template <class T, class Memory>
  struct Output {
    Array<T**, Memory> right;
    Array<T**, Memory> left;
    Array<T**, Memory> strided;
    Array<T****, Memory> tiled;

    static constexpr std::array<std::string_view, 4> names{"right", "left", "strided", "tiled"};
    static auto fields(auto& self) { return std::tie(self.right, self.left, self.strided, self.tiled); }
  };

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const& parameters) {
    std::size_t const rows = input[0][0];
    std::size_t const cols = input[0][1];
    auto const pitch = static_cast<std::size_t>(parameters.pitch);
    auto const side = static_cast<std::size_t>(parameters.side);
    return {{rows, cols},
            {cols, rows},
            {rows, tiles_of(cols, pitch) * pitch},
            {tiles_of(rows, side), tiles_of(cols, side), side, side}};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::layouts
