/// \file
/// All kernels of all chains on one instance: each waits for the kernel before it, also if that is of another chain.

#include "../chains.hpp"

namespace tessera::concurrent {

struct OneInstance {
  static constexpr VariantInfo info{.name = "one_instance",
                                    .level = Level::range,
                                    .summary = "one launch after another on one instance, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan : OfChains<Exec, T> {
    using Plan::OfChains::OfChains;

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out) const {
      Chains const& chains = this->chains();
      for (std::int64_t kernel = 0; kernel < chains.kernels; ++kernel) {
        for (std::int64_t chain = 0; chain < chains.count; ++chain) {
          auto const [begin, size] = chains.chunk(chain);
          T const* const from = (kernel == 0 ? in.data() : out.data()) + begin;
          T* const to = out.data() + begin;
          Step const step = step_of(chain, kernel);
          Kokkos::parallel_for(
              "tessera::concurrent::one_instance::step", over(exec, size),
              KOKKOS_LAMBDA(std::size_t i) { to[i] = step(from[i]); });
        }
      }
    }
  };
};

VariantRows one_instance() { return rows<Concurrent, OneInstance>(); }

}  // namespace tessera::concurrent
