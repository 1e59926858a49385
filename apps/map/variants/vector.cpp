/// \file
/// 16-byte accesses: each index moves one pack of elements, so a quarter of the loads and stores for float and a
/// quarter of the index arithmetic. What the packs leave over, and arrays that are not aligned for them, go element by
/// element.

#include <cstdint>

#include "../problem.hpp"

#include <tessera/app/make_app.hpp>
#include <tessera/collective/pack.hpp>

namespace tessera::map {

struct Vector {
  static constexpr VariantInfo info{
      .name = "vector", .level = Level::range, .summary = "16-byte accesses, remainder element by element"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int width = collective::pack_width<T>;
    using Pack = collective::Pack<T, width>;

    Plan(Exec const&, InputOn<Map, Exec, T> const& input) : add_{static_cast<T>(input.parameters.c)} {}

    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& input, OutputOn<Map, Exec, T> const& output) const {
      T const* const a = input.a.data();
      T* const out = output.out.data();
      std::size_t const n = input.a.extent(0);
      bool const aligned = collective::is_aligned_for_packs<width>(a) && collective::is_aligned_for_packs<width>(out);
      std::size_t const packs = aligned ? n / width : 0;
      std::size_t const rest = n - packs * width;
      auto const add = add_;
      // One launch for both: the indices after the packs are the elements that are left over.
      Kokkos::parallel_for(
          "tessera::map::vector::add", Kokkos::RangePolicy<Exec>(exec, 0, packs + rest), KOKKOS_LAMBDA(std::size_t i) {
            if (i < packs) {
              Pack values = reinterpret_cast<Pack const*>(a)[i];
              for (int e = 0; e < width; ++e) values[e] = add(values[e]);
              reinterpret_cast<Pack*>(out)[i] = values;
            } else {
              std::size_t const k = packs * width + (i - packs);
              out[k] = add(a[k]);
            }
          });
    }

   private:
    AddConstant<T> add_;
  };
};

VariantRows vector() { return rows<Map, Vector>(); }

}  // namespace tessera::map
