/// \file
/// One index per pack of the output. One division per pack, done as a multiplication, finds its row. A pack inside one
/// row reads a pack of a; a pack that crosses into the next rows is made element by element. Any number of columns
/// works; multiples of the pack are fastest.

#include "../problem.hpp"

#include <tessera/collective/divider.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

namespace {

template <class Edge, class T>
struct AddPacks {
  Edge along;  // [cols]
  Edge down;   // [rows]
  T* out;
  collective::Divider row_of;

  template <int N>
  KOKKOS_FUNCTION void operator()(kernels::Width<N>, std::size_t begin) const {
    std::size_t const cols = along.extent(0);
    std::size_t row = row_of(begin);
    std::size_t col = begin - row * cols;
    T of_row = down(row);
    collective::Pack<T, N> values;
    if (col + N <= cols) {
      values = collective::load_pack<N>(&along(col));
      for (int e = 0; e < N; ++e) values[e] = Add<T>{}(values[e], of_row);
    } else {
      for (int e = 0; e < N; ++e) {
        values[e] = Add<T>{}(along(col), of_row);
        if (++col == cols && e + 1 < N) {
          col = 0;
          of_row = down(++row);
        }
      }
    }
    collective::pack_at<N>(out + begin) = values;
  }
};

}  // namespace

struct Vector {
  static constexpr VariantInfo info{
      .name = "vector", .level = Level::range, .summary = "16-byte packs of the output, rows without a division"};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T const*, Exec> const& a, ArrayOn<T const*, Exec> const& b,
                  ArrayOn<T**, Exec> const& out) {
    constexpr int width = kernels::natural_pack<Exec, T>;
    if (out.size() == 0) return;
    // A single column has the memory order of a single row with a and b exchanged.
    bool const is_column = a.extent(0) == 1;
    auto const along = is_column ? b : a;
    auto const down = is_column ? a : b;
    AddPacks<ArrayOn<T const*, Exec>, T> const add{along, down, out.data(), collective::Divider(along.extent(0))};
    kernels::for_each_pack<width>("tessera::broadcast_add::vector::add", exec, out.size(),
                                  collective::is_aligned_for_packs<width>(out.data()), add);
  }
};

VariantRows vector() { return rows<BroadcastAdd, Vector>(); }

}  // namespace tessera::broadcast_add
