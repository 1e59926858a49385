/// \file
/// The baseline: one launch per stage. Results of a stage are in memory, in two buffers in turn, until the next launch
/// reads them.

#include "../chain.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::stencil_chain {

struct Launches {
  static constexpr VariantInfo info{.name = "launches",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_for over elements, one per stage: the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, Floating T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<StencilChain, Exec, T> const& input) : chain_(input.parameters) {
      for (int s = 0; s < 2 && s + 1 < chain_.count(); ++s) {
        buffers_[s] = ArrayOn<T*, Exec>(unset("tessera::stencil_chain::launches::buffer"), input.in.extent(0));
      }
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out) const {
      std::size_t const n = in.extent(0);
      ArrayOn<T const*, Exec> from = in;
      for (int s = 0; s < chain_.count(); ++s) {
        ArrayOn<T*, Exec> const to = s + 1 == chain_.count() ? out : buffers_[s % 2];
        Stage<T> const stage = chain_.stage(s);
        Kokkos::parallel_for(
            "tessera::stencil_chain::launches::stage", over(exec, n),
            KOKKOS_LAMBDA(std::size_t i) { to(i) = stage(from.data() + i, i, n - 1 - i); });
        from = to;
      }
    }

   private:
    StageChain<T> chain_;
    ArrayOn<T*, Exec> buffers_[2];
  };
};

VariantRows launches() { return rows<StencilChain, Launches>(); }

}  // namespace tessera::stencil_chain
