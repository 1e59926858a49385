// Wrong products, each by one of the mistakes that the book's solutions and their readers make.

#include "broken_rows.hpp"

#include "../../apps/matmul/problem.hpp"

namespace tessera::matmul {
namespace {

constexpr std::int64_t tile = 8;

template <class T>
struct Matrices : Operands<Accumulator<T>> {
  using Sum = Accumulator<T>;

  // Sum of the products `begin` to `end` of an element; never reads outside of the matrices.
  KOKKOS_FUNCTION Sum dot(std::size_t row, std::size_t col, std::size_t begin, std::size_t end) const {
    Sum sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += this->a[(row * this->k + i) % (this->m * this->k)] * this->b[(i * this->n + col) % (this->k * this->n)];
    }
    return sum;
  }
};

// Each mistake is a functor of (matrices, row, col) for every element of a grid of its own choice.
template <class T, class Mistake>
struct Kernel {
  Matrices<T> of;
  std::size_t across;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { Mistake::element(of, i / across, i % across); }
};

struct WholeGrid {
  template <class M>
  static std::size_t down(M const& of) {
    return of.m;
  }
  template <class M>
  static std::size_t across(M const& of) {
    return of.n;
  }
};

template <class Mistake>
struct Broken {
  static constexpr VariantInfo info{.name = Mistake::name, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Matmul, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& in, OutputOn<Matmul, Exec, T> const& out) const {
      Matrices<T> const of{operands(in, out)};
      Kernel<T, Mistake> const kernel{of, Mistake::across(of)};
      Kokkos::parallel_for("tessera::tests::broken_matmul",
                           Kokkos::RangePolicy<Exec>(exec, 0, Mistake::down(of) * Mistake::across(of)), kernel);
    }
  };
};

// The last tile along k is as wide as the others: it reads on into the next row.
struct UnmaskedTile : WholeGrid {
  static constexpr std::string_view name = "unmasked_tile";
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    of.c[row * of.n + col] = of.dot(row, col, 0, (of.k + tile - 1) / tile * tile);
  }
};

// The last tile along k is left out.
struct DroppedTile : WholeGrid {
  static constexpr std::string_view name = "dropped_tile";
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    of.c[row * of.n + col] = of.dot(row, col, 0, of.k / tile * tile);
  }
};

// Columns go down and rows across: guarded, so that a wide matrix is not finished.
struct SwappedAxes {
  static constexpr std::string_view name = "swapped_axes";
  template <class M>
  static std::size_t down(M const& of) {
    return of.n;
  }
  template <class M>
  static std::size_t across(M const& of) {
    return of.m;
  }
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    if (row < of.m && col < of.n) of.c[row * of.n + col] = of.dot(row, col, 0, of.k);
  }
};

// Adds to whatever is there.
struct NotZeroed : WholeGrid {
  static constexpr std::string_view name = "not_zeroed";
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    of.c[row * of.n + col] += of.dot(row, col, 0, of.k);
  }
};

// Every tile along k overwrites what the others have summed.
struct LastTileOnly : WholeGrid {
  static constexpr std::string_view name = "last_tile_only";
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    of.c[row * of.n + col] = of.dot(row, col, (of.k - 1) / tile * tile, of.k);
  }
};

// Reads b as if it were column-major: of the right size where the matrices are square.
struct TransposedFactor : WholeGrid {
  static constexpr std::string_view name = "transposed_factor";
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    typename M::Sum sum = 0;
    for (std::size_t i = 0; i < of.k; ++i) sum += of.a[row * of.k + i] * of.b[col * of.k + i];
    of.c[row * of.n + col] = sum;
  }
};

// Stores a whole tile where the matrix has a part of one.
struct WritesPastEnd {
  static constexpr std::string_view name = "writes_past_end";
  template <class M>
  static std::size_t down(M const& of) {
    return of.m + 1;
  }
  template <class M>
  static std::size_t across(M const& of) {
    return of.n;
  }
  template <class M>
  KOKKOS_FUNCTION static void element(M const& of, std::size_t row, std::size_t col) {
    if (row < of.m || col < 4) of.c[row * of.n + col] = of.dot(row, col, 0, of.k);
  }
};

template <class Mistake>
void expect_caught(std::size_t size, ParameterMap const& given, std::string const& message) {
  testing::expect_caught<Matmul, Broken<Mistake>>(size, given, message);
}

constexpr std::size_t cube_of_19 = 19 * 19 * 19;
ParameterMap const wide{{"m", std::int64_t{7}}, {"n", std::int64_t{30}}};

TEST(BrokenMatmul, UnmaskedTile) { expect_caught<UnmaskedTile>(cube_of_19, {}, "[0] = [0, 0]"); }
TEST(BrokenMatmul, DroppedTile) { expect_caught<DroppedTile>(cube_of_19, {}, "[0] = [0, 0]"); }
TEST(BrokenMatmul, SwappedAxes) { expect_caught<SwappedAxes>(7 * 30 * 11, wide, "[7] = [0, 7]"); }
TEST(BrokenMatmul, NotZeroed) { expect_caught<NotZeroed>(cube_of_19, {}, "[0] = [0, 0]"); }
TEST(BrokenMatmul, LastTileOnly) { expect_caught<LastTileOnly>(cube_of_19, {}, "[0] = [0, 0]"); }
TEST(BrokenMatmul, TransposedFactor) { expect_caught<TransposedFactor>(cube_of_19, {}, "[0] = [0, 0]"); }
TEST(BrokenMatmul, WritesPastEnd) { expect_caught<WritesPastEnd>(7 * 30 * 11, wide, "past the end"); }

}  // namespace
}  // namespace tessera::matmul
