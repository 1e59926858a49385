/// \file
/// The plain Kokkos answer: neighbouring indices take neighbouring elements. The baseline for all other variants.

#include "../model.hpp"

namespace tessera::memory_access {

struct Contiguous {
  static constexpr VariantInfo info{
      .name = "contiguous", .level = Level::range, .summary = "index i copies element i, the baseline"};

  template <ExecutionSpace Exec, class T>
  class Plan : public Told {
   public:
    Plan(Exec const&, InputOn<MemoryAccess, Exec, T> const& input)
        : Told(machine_of<Exec>(), "copied", input.in.extent(0), 2 * sizeof(T)) {
      std::size_t const n = input.in.extent(0);
      double const units = units_together(machine(), n, sizeof(T), [](std::size_t i) { return i; });
      tell_units(units, moved_by(2 * units, n));
    }

    void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input,
                    OutputOn<MemoryAccess, Exec, T> const& output) const {
      auto const in = input.in;
      auto const out = output.copied;
      Kokkos::parallel_for(
          "tessera::memory_access::contiguous::copy", over(exec, in.extent(0)),
          KOKKOS_LAMBDA(std::size_t i) { out(i) = in(i); });
    }
  };
};

VariantRows contiguous() { return rows<MemoryAccess, Contiguous>(); }

}  // namespace tessera::memory_access
