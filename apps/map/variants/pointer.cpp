/// \file
/// Raw pointers and a flat index (32 bits if n is small enough): like the book's CUDA kernels, without Views.

#include <cstdint>
#include <limits>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::map {

struct Pointer {
  static constexpr VariantInfo info{
      .name = "pointer", .level = Level::range, .summary = "raw pointers, flat 32-bit index if n allows"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T*, Exec> const& out,
                  Parameters const& parameters) {
    AddConstant<T> const add{static_cast<T>(parameters.c)};
    if (a.extent(0) <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      enqueue<std::int32_t>(exec, a.data(), out.data(), a.extent(0), add);
    } else {
      enqueue<std::int64_t>(exec, a.data(), out.data(), a.extent(0), add);
    }
  }

  template <class Index, class Exec, class T>
  static void enqueue(Exec const& exec, T const* a, T* out, std::size_t n, AddConstant<T> const& add) {
    Kokkos::parallel_for(
        "tessera::map::pointer::add", over<Index>(exec, n), KOKKOS_LAMBDA(Index i) { out[i] = add(a[i]); });
  }
};

VariantRows pointer() { return rows<Map, Pointer>(); }

}  // namespace tessera::map
