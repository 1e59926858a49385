/// \file
/// The contiguous copy with every warp --offset elements beyond an aligned address: a request then touches one more
/// sector. The neighbouring warp needs the same sector and finds it in a cache, so memory moves no more data than for
/// an aligned copy.

#include "../model.hpp"

namespace tessera::memory_access {

struct Misaligned {
  static constexpr VariantInfo info{.name = "misaligned",
                                    .level = Level::range,
                                    .summary = "index i copies element i + --offset, the first ones at the end"};

  template <ExecutionSpace Exec, class T>
  class Plan : public Told {
   public:
    Plan(Exec const&, InputOn<MemoryAccess, Exec, T> const& input)
        : Told(machine_of<Exec>(), "copied", input.in.extent(0), 2 * sizeof(T)),
          offset_(std::min(static_cast<std::size_t>(input.parameters.offset), input.in.extent(0))) {
      std::size_t const n = input.in.extent(0);
      double const units = units_together(machine(), n, sizeof(T), [&](std::size_t i) { return i + offset_; });
      double const aligned = units_together(machine(), n, sizeof(T), [](std::size_t i) { return i; });
      tell_units(units, moved_by(2 * aligned, n));
    }

    void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input,
                    OutputOn<MemoryAccess, Exec, T> const& output) const {
      std::size_t const offset = offset_;
      std::size_t const rest = input.in.extent(0) - offset;
      auto const after = Kokkos::make_pair(offset, input.in.extent(0));
      auto const before = Kokkos::make_pair(std::size_t{0}, offset);
      auto const in = Kokkos::subview(input.in, after);
      auto const out = Kokkos::subview(output.copied, after);
      auto const first_in = Kokkos::subview(input.in, before);
      auto const first_out = Kokkos::subview(output.copied, before);
      Kokkos::parallel_for(
          "tessera::memory_access::misaligned::copy", over(exec, rest + offset), KOKKOS_LAMBDA(std::size_t i) {
            if (i < rest) {
              out(i) = in(i);
            } else {
              first_out(i - rest) = first_in(i - rest);
            }
          });
    }

   private:
    std::size_t offset_;
  };
};

VariantRows misaligned() { return rows<MemoryAccess, Misaligned>(); }

}  // namespace tessera::memory_access
