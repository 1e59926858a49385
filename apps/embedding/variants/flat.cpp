/// \file
/// The plain Kokkos answer: one thread per element of out, with neighbouring threads on neighbouring columns, so that a
/// warp reads and writes contiguous parts of rows. Every thread reads an index and divides by the width.

#include <cstdint>
#include <limits>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

struct Flat {
  static constexpr VariantInfo info{
      .name = "flat", .level = Level::range, .summary = "one thread per element of out, the baseline", .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<std::int32_t const**, Exec> const& idx, ArrayOn<T const**, Exec> const& w,
                  ArrayOn<T***, Exec> const& out) {
    // A 64-bit division takes about a hundred instructions on a GPU.
    bool const is_narrow = out.size() <= std::size_t{std::numeric_limits<std::int32_t>::max()};
    if (is_narrow) {
      look_up<std::uint32_t>(exec, flat_indices(idx), w, flat_rows(out));
    } else {
      look_up<std::uint64_t>(exec, flat_indices(idx), w, flat_rows(out));
    }
  }

  template <class Index, class Exec, class Indices, class Table, class Rows>
  static void look_up(Exec const& exec, Indices const& idx, Table const& w, Rows const& out) {
    auto const width = static_cast<Index>(w.extent(1));
    Kokkos::parallel_for(
        "tessera::embedding::flat::look_up", over<Index>(exec, out.size()), KOKKOS_LAMBDA(Index i) {
          Index const position = i / width;
          Index const col = i - position * width;
          out(position, col) = has_row(w, idx(position)) ? w(idx(position), col) : typename Rows::value_type(0);
        });
  }
};

VariantRows flat() { return rows<Embedding, Flat>(); }

}  // namespace tessera::embedding
