/// \file
/// Raw pointers and one flat index (32 bits if the output is small enough), which is divided into row and column, as in
/// a kernel on a one-dimensional grid. The cost is one division per element.

#include <cstdint>
#include <limits>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

struct Pointer {
  static constexpr VariantInfo info{
      .name = "pointer", .level = Level::range, .summary = "raw pointers, flat index divided into row and column"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T**, Exec> const& out) {
    if (out.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      enqueue<std::uint32_t>(exec, a.data(), b.data(), out.data(), out.size(), a.extent(0));
    } else {
      enqueue<std::uint64_t>(exec, a.data(), b.data(), out.data(), out.size(), a.extent(0));
    }
  }

  template <class Index, class Exec, class T>
  static void enqueue(Exec const& exec, T const* a, T const* b, T* out, std::size_t n, std::size_t row_length) {
    auto const cols = static_cast<Index>(row_length);
    Kokkos::parallel_for(
        "tessera::broadcast_add::pointer::add", over<Index>(exec, n), KOKKOS_LAMBDA(Index i) {
          Index const row = i / cols;
          out[i] = Add<T>{}(a[i - row * cols], b[row]);
        });
  }
};

VariantRows pointer() { return rows<BroadcastAdd, Pointer>(); }

}  // namespace tessera::broadcast_add
