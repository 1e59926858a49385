/// \file
/// 16-byte accesses: each index moves one pack of elements, so that float needs a quarter of the loads and stores, and
/// a quarter of the index arithmetic. The kernel is kernels/transform.hpp.

#include "../problem.hpp"

#include <tessera/kernels/transform.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map {

struct Vector {
  static constexpr VariantInfo info{
      .name = "vector", .level = Level::range, .summary = "16-byte accesses, remainder element by element"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Transform<Exec, T, AddConstant<T>> {
    Plan(Exec const&, InputOn<Map, Exec, T> const& input)
        : Plan::Transform({static_cast<T>(input.parameters.c)}, "tessera::map::vector::add") {}
  };
};

VariantRows vector() { return rows<Map, Vector>(); }

}  // namespace tessera::map
