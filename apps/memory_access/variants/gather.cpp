/// \file
/// Reads through an index, writes in order: each lane of a warp reads from another sector, and each read of a host is
/// from another cache line.

#include "../permutation.hpp"

namespace tessera::memory_access {

struct Gather {
  static constexpr VariantInfo info{
      .name = "gather", .level = Level::range, .summary = "gathered[i] = in[index[i]], index a permutation"};

  template <ExecutionSpace Exec, class T>
  struct Plan : OfPermutation<Exec, T> {
    Plan(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input)
        : Plan::OfPermutation(exec, "gathered", input.in.extent(0)) {}

    void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input,
                    OutputOn<MemoryAccess, Exec, T> const& output) const {
      auto const in = input.in;
      auto const out = output.gathered;
      auto const index = this->index_;
      Kokkos::parallel_for(
          "tessera::memory_access::gather::read", over(exec, in.extent(0)),
          KOKKOS_LAMBDA(std::size_t i) { out(i) = in(index(i)); });
    }
  };
};

VariantRows gather() { return rows<MemoryAccess, Gather>(); }

}  // namespace tessera::memory_access
