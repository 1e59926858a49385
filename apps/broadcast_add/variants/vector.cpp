/// \file
/// One 16-byte pack of the output an index. One division a pack finds its row, and that is a multiplication; a pack
/// that lies in one row reads a pack of a, one that crosses into the next rows goes on element by element. Any number
/// of columns is right, multiples of the pack are fastest.

#include "../problem.hpp"

#include <tessera/collective/divider.hpp>
#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

namespace {

template <class T>
struct AddPacks {
  Operands<T> in;
  T* out;
  collective::Divider row_of;

  template <int N>
  KOKKOS_FUNCTION void operator()(kernels::Width<N>, std::size_t begin) const {
    std::size_t row = row_of(begin);
    std::size_t col = begin - row * in.cols;
    T of_row = in.down[row];
    collective::Pack<T, N> values;
    if (col + N <= in.cols) {
      values = collective::load_pack<N>(in.along + col);
      for (int e = 0; e < N; ++e) values[e] = Add<T>{}(values[e], of_row);
    } else {
      for (int e = 0; e < N; ++e) {
        values[e] = Add<T>{}(in.along[col], of_row);
        if (++col == in.cols && e + 1 < N) {
          col = 0;
          of_row = in.down[++row];
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
  class Plan {
   public:
    static constexpr int width = kernels::natural_pack<Exec, T>;

    Plan(Exec const&, InputOn<BroadcastAdd, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<BroadcastAdd, Exec, T> const& input,
                    OutputOn<BroadcastAdd, Exec, T> const& output) const {
      if (output.out.size() == 0) return;
      auto const in = long_rows(input);
      AddPacks<T> const add{.in = in, .out = output.out.data(), .row_of = collective::Divider(in.cols)};
      kernels::for_each_pack<width>("tessera::broadcast_add::vector::add", exec, output.out.size(),
                                    collective::is_aligned_for_packs<width>(add.out), add);
    }
  };
};

VariantRows vector() { return rows<BroadcastAdd, Vector>(); }

}  // namespace tessera::broadcast_add
