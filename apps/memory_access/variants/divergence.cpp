/// \file
/// Every element goes through one of several branches of equal length. A warp goes through a branch if any of its lanes
/// does, while the other lanes wait. If the branch changes from lane to lane, a warp takes the time of all branches. If
/// it changes from warp to warp (32 elements), a warp takes the time of one branch (two if a wavefront has 64 lanes). A
/// host takes one branch per element but must predict it, which fails if the branch is random.

#include "../model.hpp"

namespace tessera::memory_access {

struct Divergence {
  static constexpr VariantInfo info{
      .name = "divergence", .level = Level::range, .summary = "one of --branches branches, as --branch says"};

  template <ExecutionSpace Exec, class T>
  class Plan : public Told {
   public:
    Plan(Exec const&, InputOn<MemoryAccess, Exec, T> const& input)
        : Told(machine_of<Exec>(), "diverged", input.in.extent(0), sizeof(T)) {
      auto const branches = static_cast<std::uint32_t>(input.parameters.branches);
      double const taken = branches_together(machine(), input.in.extent(0), [&](std::size_t i) {
        return std::size_t{branch_of(static_cast<std::uint32_t>(i), input.parameters.branch, branches)};
      });
      tell_passes(taken, taken == 1 ? " branch per warp" : " branches per warp");
    }

    void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input,
                    OutputOn<MemoryAccess, Exec, T> const& output) const {
      auto const out = output.diverged;
      auto const branch = input.parameters.branch;
      auto const branches = static_cast<std::uint32_t>(input.parameters.branches);
      auto const iterations = static_cast<int>(input.parameters.iterations);
      Kokkos::parallel_for(
          "tessera::memory_access::divergence::branch", over(exec, out.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
            auto number = static_cast<std::uint32_t>(i);
            std::uint32_t const mine = branch_of(number, branch, branches);
            // One branch after the other, as a warp goes through the cases of a switch.
            for (std::uint32_t b = 0; b < branches; ++b) {
              if (b != mine) continue;
              for (int k = 0; k < iterations; ++k) number = number * 1664525u + 2 * b + 1;
            }
            out(i) = static_cast<T>(number >> 16);  // a number that every dtype holds
          });
    }
  };
};

VariantRows divergence() { return rows<MemoryAccess, Divergence>(); }

}  // namespace tessera::memory_access
