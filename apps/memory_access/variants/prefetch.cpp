/// \file
/// gather, with each element prefetched --distance steps before it is used. On a host a thread's next element is the
/// neighbour of the current element, because each thread takes a contiguous part of a team's range; on a GPU it is as
/// many elements further as the team has threads. The hardware can prefetch accesses in order; with an index only the
/// program knows the next address.

#include "../permutation.hpp"

#include <tessera/kernels/detail/launch/chunks.hpp>

namespace tessera::memory_access {

namespace {

/// Starts a prefetch of the cache line of `address`; does not wait.
KOKKOS_INLINE_FUNCTION void ask_for(void const* address) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.L2 [%0];" : : "l"(address));
#elif defined(__GNUC__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

}  // namespace

struct Prefetch {
  static constexpr VariantInfo info{
      .name = "prefetch", .level = Level::team, .summary = "gather, each element prefetched --distance steps ahead"};

  template <ExecutionSpace Exec, class T>
  class Plan : public OfPermutation<Exec, T> {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;

    Plan(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input)
        : Plan::OfPermutation(exec, "gathered", input.in.extent(0)),
          threads_(kernels::team_size(exec, input.parameters.team)),
          // At least 16 steps per thread: with fewer there is little to prefetch.
          chunks_(kernels::chunks_of(exec, input.in.extent(0), 16 * static_cast<std::size_t>(threads_), threads_)) {}

    void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input,
                    OutputOn<MemoryAccess, Exec, T> const& output) const {
      auto const in = input.in;
      auto const out = output.gathered;
      auto const index = this->index_;
      auto const chunks = chunks_;
      std::size_t const ahead = static_cast<std::size_t>(input.parameters.distance) * (is_gpu<Exec> ? threads_ : 1);
      Kokkos::parallel_for(
          "tessera::memory_access::prefetch::read", Policy(exec, chunks.count, threads_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            std::size_t const end = chunks.end(team.league_rank());
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, chunks.begin(team.league_rank()), end),
                                 [&](std::size_t i) {
                                   if (ahead > 0 && i + ahead < end) ask_for(&in(index(i + ahead)));
                                   out(i) = in(index(i));
                                 });
          });
    }

   private:
    int threads_;
    kernels::Chunks chunks_;
  };
};

VariantRows prefetch() { return rows<MemoryAccess, Prefetch>(); }

}  // namespace tessera::memory_access
