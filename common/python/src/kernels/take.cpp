#include <limits>

#include <tessera/kernels/embedding.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

namespace {

/// A negative index counts from the end. One that is in no row becomes -1, for which Embedding gives zeros.
template <class Indices, class Rows>
struct RowOfIndex {
  Indices indices;
  Rows rows;
  std::int64_t count;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::int64_t& outside) const {
    auto const index = static_cast<std::int64_t>(indices(i));
    std::int64_t const row = index < 0 ? index + count : index;
    bool const is_inside = 0 <= row && row < count;
    rows(i) = is_inside ? static_cast<std::int32_t>(row) : -1;
    outside += is_inside ? 0 : 1;
  }
};

template <class Exec, class T>
struct Take {
  ArrayOn<std::int32_t*, Exec> rows;
  ArrayOn<std::int64_t, Exec> outside;
  kernels::Embedding<Exec, T> copy;

  template <class Table>
  Take(Exec const& exec, std::size_t n, Table const& table)
      : rows(unset("tessera::take::rows"), n), outside("tessera::take::outside"), copy(exec, n, table) {}

  template <class Indices>
  void find_rows(Exec const& exec, Indices const& indices, std::int64_t count) const {
    Kokkos::parallel_reduce("tessera::take", over(exec, indices.extent(0)),
                            RowOfIndex<Indices, decltype(rows)>{indices, rows, count}, outside);
  }
};

}  // namespace

std::int64_t take(Array const& x, Array const& indices, Array const& out) {
  std::int64_t outside = 0;
  if (x.shape[0] > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw std::invalid_argument("x has " + std::to_string(x.shape[0]) +
                                " rows (take counts them in 32 bits); give a part of it");
  }
  std::size_t const width = count_of({x.shape.begin() + 1, x.shape.end()});
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      Array rows = x;
      Array taken = out;
      rows.shape = {x.shape[0], width};
      taken.shape = {indices.count(), width};
      auto const table = view_of<T const**, Exec>(rows);
      bool const is_aligned = reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
      auto const& take = kept_from<Take<Exec, T>>(exec, {indices.count(), table.extent(0), width, is_aligned}, [&] {
        return std::make_shared<Take<Exec, T>>(exec, indices.count(), table);
      });
      auto const count = static_cast<std::int64_t>(x.shape[0]);
      if (indices.dtype == DType::int64) {
        take.find_rows(exec, view_of<std::int64_t const*, Exec>(indices), count);
      } else {
        take.find_rows(exec, view_of<std::int32_t const*, Exec>(indices), count);
      }
      take.copy(exec, take.rows, table, view_of<T**, Exec>(taken));
      if (!x.stream) {
        Kokkos::deep_copy(exec, outside, take.outside);
        exec.fence("tessera: take");
      }
    });
  });
  return outside;
}

}  // namespace tessera::python
