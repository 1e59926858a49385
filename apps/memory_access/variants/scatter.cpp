/// \file
/// Reads in order, writes through an index. Memory moves as much data as for gather, but nothing waits for a write. A
/// host, however, must read a cache line before it changes a part of it.

#include "../permutation.hpp"

namespace tessera::memory_access {

struct Scatter {
  static constexpr VariantInfo info{
      .name = "scatter", .level = Level::range, .summary = "scattered[index[i]] = in[i], index a permutation"};

  template <ExecutionSpace Exec, class T>
  struct Plan : OfPermutation<Exec, T> {
    Plan(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input)
        : Plan::OfPermutation(exec, "scattered", input.in.extent(0)) {}

    void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input,
                    OutputOn<MemoryAccess, Exec, T> const& output) const {
      auto const in = input.in;
      auto const out = output.scattered;
      auto const index = this->index_;
      Kokkos::parallel_for(
          "tessera::memory_access::scatter::write", over(exec, in.extent(0)),
          KOKKOS_LAMBDA(std::size_t i) { out(index(i)) = in(i); });
    }
  };
};

VariantRows scatter() { return rows<MemoryAccess, Scatter>(); }

}  // namespace tessera::memory_access
