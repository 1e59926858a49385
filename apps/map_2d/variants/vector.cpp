/// \file
/// A map does not need rows and columns: the matrix is taken as a flat array, and each index moves one 16-byte pack.
/// The kernel is kernels/transform.hpp.

#include "../problem.hpp"

#include <tessera/kernels/transform.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

struct Vector {
  static constexpr VariantInfo info{
      .name = "vector", .level = Level::range, .summary = "16-byte packs of the flat array, remainder by element"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Transform<Exec, T, AddConstant<T>> {
    Plan(Exec const&, InputOn<Map2d, Exec, T> const& input)
        : Plan::Transform({static_cast<T>(input.parameters.c)}, "tessera::map_2d::vector::add") {}
  };
};

VariantRows vector() { return rows<Map2d, Vector>(); }

}  // namespace tessera::map_2d
