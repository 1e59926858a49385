/// \file
/// Raw pointers and a flat index (32 bits if n is small enough): like the book's CUDA kernels, without Views.

#include <cstdint>
#include <limits>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::map {

struct Pointer {
  static constexpr VariantInfo info{
      .name = "pointer", .level = Level::range, .summary = "raw pointers, flat 32-bit index where n allows"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Map, Exec, T> const& input) : add_{static_cast<T>(input.parameters.c)} {}

    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& input, OutputOn<Map, Exec, T> const& output) const {
      if (input.a.extent(0) <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        enqueue<std::int32_t>(exec, input.a.data(), output.out.data(), input.a.extent(0));
      } else {
        enqueue<std::int64_t>(exec, input.a.data(), output.out.data(), input.a.extent(0));
      }
    }

    // Public because CUDA allows no device lambda in a private function.
    template <class Index>
    void enqueue(Exec const& exec, T const* a, T* out, std::size_t n) const {
      auto const add = add_;
      Kokkos::parallel_for(
          "tessera::map::pointer::add", over<Index>(exec, static_cast<Index>(n)),
          KOKKOS_LAMBDA(Index i) { out[i] = add(a[i]); });
    }

   private:
    AddConstant<T> add_;
  };
};

VariantRows pointer() { return rows<Map, Pointer>(); }

}  // namespace tessera::map
