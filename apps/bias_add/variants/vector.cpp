/// \file
/// One pack of x an index. One division a pack finds its column, and that is a multiplication; a pack that lies in one row
/// reads a pack of the bias, one that crosses into the next row begins the bias again. Any number of columns is right,
/// multiples of the pack are fastest.

#include "../problem.hpp"

#include <tessera/collective/divider.hpp>
#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::bias_add {

namespace {

template <class T>
struct AddPacks {
  T const* x;
  T const* bias;
  T* y;
  std::size_t cols;
  collective::Divider row_of;

  template <int N>
  KOKKOS_FUNCTION void operator()(kernels::Width<N>, std::size_t begin) const {
    std::size_t col = begin - row_of(begin) * cols;
    collective::Pack<T, N> values = collective::load_pack<N>(x + begin);
    if (col + N <= cols) {
      collective::Pack<T, N> const of_columns = collective::load_pack<N>(bias + col);
      for (int e = 0; e < N; ++e) values[e] = Add<T>{}(values[e], of_columns[e]);
    } else {
      for (int e = 0; e < N; ++e) {
        values[e] = Add<T>{}(values[e], bias[col]);
        if (++col == cols) col = 0;
      }
    }
    collective::pack_at<N>(y + begin) = values;
  }
};

}  // namespace

struct Vector {
  static constexpr VariantInfo info{
      .name = "vector", .level = Level::range, .summary = "16-byte packs of x, columns without a division"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int width = kernels::natural_pack<Exec, T>;

    Plan(Exec const&, InputOn<BiasAdd, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<BiasAdd, Exec, T> const& input,
                    OutputOn<BiasAdd, Exec, T> const& output) const {
      if (input.x.size() == 0) return;
      std::size_t const cols = input.x.extent(1);
      T* const y = output.y.data();
      AddPacks<T> const add{input.x.data(), input.bias.data(), y, cols, collective::Divider(cols)};
      kernels::for_each_pack<width>("tessera::bias_add::vector::add", exec, output.y.size(),
                                    collective::is_aligned_for_packs<width>(y), add);
    }
  };
};

VariantRows vector() { return rows<BiasAdd, Vector>(); }

}  // namespace tessera::bias_add
