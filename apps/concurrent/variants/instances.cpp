/// \file
/// An instance per chain, from partition_space: kernels of different chains may run side by side. The first kernel of a
/// chain waits for the row's own instance, and that waits for the last kernel of every chain, without the host.

#include "../chains.hpp"

#include <tessera/kernels/detail/launch/instances.hpp>

namespace tessera::concurrent {

struct Instances {
  static constexpr VariantInfo info{
      .name = "instances", .level = Level::range, .summary = "an instance per chain, from partition_space"};

  template <ExecutionSpace Exec, class T>
  class Plan : public OfChains<Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<Concurrent, Exec, T> const& input)
        : Plan::OfChains(exec, input), instances_(exec, static_cast<std::size_t>(input.parameters.chains)) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out) const {
      Chains const& chains = this->chains();
      instances_.fork(exec);
      // Kernel by kernel: if the host launches more slowly than kernels run, all chains have begun early.
      for (std::int64_t kernel = 0; kernel < chains.kernels; ++kernel) {
        for (std::int64_t chain = 0; chain < chains.count; ++chain) {
          auto const [begin, size] = chains.chunk(chain);
          T const* const from = (kernel == 0 ? in.data() : out.data()) + begin;
          T* const to = out.data() + begin;
          Step const step = step_of(chain, kernel);
          Kokkos::parallel_for(
              "tessera::concurrent::instances::step", over(instances_[static_cast<std::size_t>(chain)], size),
              KOKKOS_LAMBDA(std::size_t i) { to[i] = step(from[i]); });
        }
      }
      instances_.join(exec);
    }

   private:
    kernels::Instances<Exec> instances_;
  };
};

VariantRows instances() { return rows<Concurrent, Instances>(); }

}  // namespace tessera::concurrent
