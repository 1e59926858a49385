#include <tessera/kernels/attention.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

namespace {

/// Matrix `i` of the last two dimensions.
template <class T, class Exec>
[[nodiscard]] auto matrix_of(Array const& array, std::size_t i) {
  std::size_t const rows = array.shape[array.shape.size() - 2];
  std::size_t const cols = array.shape.back();
  return Kokkos::View<T**, Kokkos::LayoutRight, typename Exec::memory_space, Kokkos::MemoryUnmanaged>(
      static_cast<T*>(array.data) + i * rows * cols, rows, cols);
}

}  // namespace

void scaled_dot_product_attention(Array const& query, Array const& key, Array const& value, double scale,
                                  Array const& out) {
  std::size_t const queries = query.shape[query.shape.size() - 2];
  std::size_t const keys = key.shape[key.shape.size() - 2];
  std::size_t const dim = query.shape.back();
  std::size_t const matrices = query.count() == 0 ? 0 : query.count() / (queries * dim);
  if (matrices > 1 && queries == keys) {  // one launch: each matrix is a sequence with one head
    batched_attention(query, key, value,
                      {.sequences = matrices, .tokens = queries, .dim = dim, .causal = false, .scale = scale}, out);
    return;
  }
  with_type_of(query, Floats{}, [&]<class T>() {
    on_space_of(query, [&]<class Exec>(Exec const& exec) {
      auto const factor = static_cast<T>(scale);
      auto& attend = kept<kernels::Attention<Exec, T>>(exec, queries, keys, dim);
      for (std::size_t i = 0; i < matrices; ++i) {
        attend(exec, matrix_of<T const, Exec>(query, i), matrix_of<T const, Exec>(key, i),
               matrix_of<T const, Exec>(value, i), matrix_of<T, Exec>(out, i), factor);
      }
    });
  });
}

}  // namespace tessera::python
