/// \file
/// The one-line Kokkos answer: parallel_for over a range, one element per index, by View access.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct Range {
  static constexpr VariantInfo info{.name = "range",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_for over elements, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T*, Exec> const& out) {
    Kokkos::parallel_for(
        "tessera::zip::range::add", over(exec, a.extent(0)),
        KOKKOS_LAMBDA(std::size_t i) { out(i) = Add<T>{}(a(i), b(i)); });
  }
};

VariantRows range() { return rows<Zip, Range>(); }

}  // namespace tessera::zip
