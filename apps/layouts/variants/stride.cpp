/// \file
/// LayoutStride, whose strides are known only at run time: row after row, each beginning at a multiple of the pitch, so
/// all rows have the same alignment. The places between the end of a row and the next row are 0.

#include "../fill.hpp"

#include <tessera/core/tiles.hpp>

namespace tessera::layouts {

struct Stride {
  static constexpr VariantInfo info{
      .name = "stride", .level = Level::range, .summary = "Kokkos::LayoutStride: rows begin at multiples of --pitch"};

  static constexpr std::size_t field = 2;
  [[nodiscard]] static Shape padded(std::size_t rows, std::size_t cols, Parameters const& parameters) {
    auto const pitch = static_cast<std::size_t>(parameters.pitch);
    return {rows, tiles_of(cols, pitch) * pitch};
  }
  template <class Memory, class T>
  [[nodiscard]] static auto over(T* data, Shape const& padded, Parameters const&) {
    return Over<T, Kokkos::LayoutStride, Memory>(data, Kokkos::LayoutStride(padded[0], padded[1], padded[1], 1));
  }

  template <ExecutionSpace Exec, class T>
  using Plan = FillPlan<Exec, T, Stride>;
};

VariantRows stride() { return rows<Layouts, Stride>(); }

}  // namespace tessera::layouts
