/// \file
/// Kokkos' pool of XorShift64 generators, the usual way to draw in a Kokkos kernel. A state is a word of 64 bits.
/// Which thread takes which state is not defined, so statistics take the place of the reference.

#include "../pool.hpp"

namespace tessera::random {

struct Xorshift64Pool {
  static constexpr VariantInfo info{.name = "xorshift64_pool",
                                    .level = Level::range,
                                    .summary = "Kokkos' XorShift64 pool: numbers of its own, judged by statistics",
                                    .deterministic = false,
                                    .ordered_by = "the pool's states"};

  template <ExecutionSpace Exec, class T>
  struct Plan : PoolPlan<Exec, T, Kokkos::Random_XorShift64_Pool<Exec>> {
    Plan(Exec const&, InputOn<Random, Exec, T> const& input)
        : Plan::PoolPlan(input.parameters, "tessera::random::xorshift64_pool::fill") {}
  };
};

VariantRows xorshift64_pool() { return rows<Random, Xorshift64Pool>(); }

}  // namespace tessera::random
