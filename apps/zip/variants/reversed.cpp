/// \file
/// The baseline from the end: neighbouring indices still add neighbouring elements. A request of a GPU's warp touches
/// the same sectors in either order, so reversing alone costs little.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct Reversed {
  static constexpr VariantInfo info{.name = "reversed",
                                    .level = Level::range,
                                    .summary = "index i adds element n - 1 - i: neighbours in reversed order",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T*, Exec> const& out) {
    std::size_t const n = a.extent(0);
    Kokkos::parallel_for(
        "tessera::zip::reversed::add", over(exec, n), KOKKOS_LAMBDA(std::size_t i) {
          std::size_t const element = n - 1 - i;
          out(element) = Add<T>{}(a(element), b(element));
        });
  }
};

VariantRows reversed() { return rows<Zip, Reversed>(); }

}  // namespace tessera::zip
