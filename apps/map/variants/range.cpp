/// \file
/// The one-line Kokkos answer: parallel_for over a range, elements by View access.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::map {

struct Range {
  static constexpr VariantInfo info{.name = "range",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_for over elements, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T*, Exec> const& out,
                  Parameters const& parameters) {
    AddConstant<T> const add{static_cast<T>(parameters.c)};
    Kokkos::parallel_for(
        "tessera::map::range::add", over(exec, a.extent(0)), KOKKOS_LAMBDA(std::size_t i) { out(i) = add(a(i)); });
  }
};

VariantRows range() { return rows<Map, Range>(); }

}  // namespace tessera::map
