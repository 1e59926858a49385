/// \file
/// Every lane makes a strip of neighbouring sums in registers: it walks down the rows of the input, loads each of them
/// with 16-byte accesses, and adds its products to all sums that need them. The kernel is kernels/conv2d.hpp.

#include "../problem.hpp"

#include <tessera/kernels/conv2d.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv2d {

struct RegisterTile {
  static constexpr VariantInfo info{.name = "register_tile",
                                    .level = Level::team,
                                    .summary = "a strip of sums in each lane's registers, 16-byte loads down the rows"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Conv2d<Exec, T> {
    Plan(Exec const& exec, InputOn<Conv2d, Exec, T> const& input)
        : Plan::Conv2d(exec, input.in.extent(0), input.in.extent(1), input.parameters.team,
                       "tessera::conv2d::register_tile") {}
  };
};

VariantRows register_tile() { return rows<Conv2d, RegisterTile>(); }

}  // namespace tessera::conv2d
