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
  class Plan {
   public:
    Plan(Exec const&, InputOn<BroadcastAdd, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<BroadcastAdd, Exec, T> const& input,
                    OutputOn<BroadcastAdd, Exec, T> const& output) const {
      if (output.out.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        enqueue<std::uint32_t>(exec, input, output.out.data());
      } else {
        enqueue<std::uint64_t>(exec, input, output.out.data());
      }
    }

    // Public because CUDA allows no device lambda in a private function.
    template <class Index>
    void enqueue(Exec const& exec, InputOn<BroadcastAdd, Exec, T> const& input, T* out) const {
      T const* const a = input.a.data();
      T const* const b = input.b.data();
      auto const cols = static_cast<Index>(input.a.extent(0));
      auto const n = static_cast<Index>(input.a.extent(0) * input.b.extent(0));
      Kokkos::parallel_for(
          "tessera::broadcast_add::pointer::add", over<Index>(exec, n), KOKKOS_LAMBDA(Index i) {
            Index const row = i / cols;
            out[i] = Add<T>{}(a[i - row * cols], b[row]);
          });
    }
  };
};

VariantRows pointer() { return rows<BroadcastAdd, Pointer>(); }

}  // namespace tessera::broadcast_add
