/// \file
/// Kokkos' pool of XorShift1024 generators, the usual way to draw in a Kokkos kernel. A state is sixteen words of 64
/// bits and a position. Which thread takes which state is not defined, so statistics take the place of the reference.

#include "../pool.hpp"

namespace tessera::random {

struct Xorshift1024Pool {
  static constexpr VariantInfo info{.name = "xorshift1024_pool",
                                    .level = Level::range,
                                    .summary = "Kokkos' XorShift1024 pool: numbers of its own, judged by statistics",
                                    .deterministic = false,
                                    .ordered_by = "the pool's states"};

  template <ExecutionSpace Exec, class T>
  struct Plan : PoolPlan<Exec, T, Kokkos::Random_XorShift1024_Pool<Exec>> {
    Plan(Exec const&, InputOn<Random, Exec, T> const& input)
        : Plan::PoolPlan(input.parameters, "tessera::random::xorshift1024_pool::fill") {}
  };
};

VariantRows xorshift1024_pool() { return rows<Random, Xorshift1024Pool>(); }

}  // namespace tessera::random
