#include <algorithm>
#include <cstddef>

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

/// The first rows of matrix `i`, or those from `first` on, as a matrix.
[[nodiscard]] Array rows_of(Array const& array, std::size_t i, std::size_t first, std::size_t count) {
  std::size_t const rows = array.shape[array.shape.size() - 2];
  std::size_t const cols = array.shape.back();
  Array part = array;
  part.data = static_cast<char*>(array.data) + (i * rows + first) * cols * size_of(array.dtype);
  part.shape = {1, count, cols};
  return part;
}

}  // namespace

void scaled_dot_product_attention(Array const& query, Array const& key, Array const& value, bool causal, double scale,
                                  Array const& out) {
  std::size_t const queries = query.shape[query.shape.size() - 2];
  std::size_t const keys = key.shape[key.shape.size() - 2];
  std::size_t const dim = query.shape.back();
  std::size_t const matrices = query.count() == 0 ? 0 : query.count() / (queries * dim);
  if (causal && queries != keys) {
    std::size_t const square = std::min(queries, keys);
    Batch const first{.sequences = 1, .tokens = square, .dim = dim, .causal = true, .scale = scale};
    for (std::size_t i = 0; i < matrices; ++i) {
      auto const of = [&](Array const& array) { return rows_of(array, i, 0, square); };
      if (square > 0) batched_attention(of(query), of(key), of(value), first, of(out));
      if (queries == square) continue;
      auto const later = [&](Array const& array) { return rows_of(array, i, square, queries - square); };
      scaled_dot_product_attention(later(query), rows_of(key, i, 0, keys), rows_of(value, i, 0, keys), false, scale,
                                   later(out));
    }
    return;
  }
  if (causal || (matrices > 1 && queries == keys)) {  // one launch: each matrix is a sequence with one head
    batched_attention(query, key, value,
                      {.sequences = matrices, .tokens = queries, .dim = dim, .causal = causal, .scale = scale}, out);
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
