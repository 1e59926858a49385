/// \file
/// On several ranks: each has its rows of x, and the bias. Ranks exchange nothing. The tiles are those of
/// `blocked`.

#include "../problem.hpp"

#include <tessera/kernels/row_tiles.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::bias_add {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank its rows, the bias on all of them, no communication"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<BiasAdd, Exec, T> const& input, ranks::Part const&)
        : tiles_(kernels::mdrange_tiles<Exec>(input.x.extent(0), input.x.extent(1))) {}

    void operator()(Exec const& exec, InputOn<BiasAdd, Exec, T> const& input,
                    OutputOn<BiasAdd, Exec, T> const& output) const {
      if (input.x.size() == 0) return;
      auto const x = input.x;
      auto const bias = input.bias;
      auto const y = output.y;
      Kokkos::parallel_for(
          "tessera::bias_add::distributed::add", kernels::columns_first<std::int64_t>(exec, tiles_),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { y(row, col) = Add<T>{}(x(row, col), bias(col)); });
    }

   private:
    collective::MatrixTiles tiles_;
  };
};

VariantRows distributed() { return rows<BiasAdd, Distributed>(); }

}  // namespace tessera::bias_add
