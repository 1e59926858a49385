// Wrong convolutions must be caught, each with one typical mistake of readers of the book. The kernel also runs on
// hosts with the tuning of GPUs.

#include "broken_rows.hpp"

#include "../../apps/conv2d/problem.hpp"

#include <tessera/collective/accumulator.hpp>
#include <tessera/kernels/conv2d.hpp>

namespace tessera::conv2d {
namespace {

using testing::expect_caught;

// The mistake in the kernel.
enum class Fault {
  none,
  wraps_at_right_edge,
  transposed_kernel,
  flipped_kernel,
  no_halo,
  halo_of_one,
  last_row_missing
};

template <class T>
struct SumTerms {
  Fault fault;
  T const* in;
  T const* k;
  T* out;
  std::size_t rows, cols, tap_rows, tap_cols;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const y = i / cols;
    std::size_t const x = i % cols;
    if (fault == Fault::last_row_missing && y + 1 == rows) return;
    collective::Accumulator<T> sum = 0;
    for (std::size_t ky = 0; ky < tap_rows; ++ky) {
      for (std::size_t kx = 0; kx < tap_cols; ++kx) {
        bool inside = y + ky < rows && x + kx < cols;
        if (fault == Fault::wraps_at_right_edge) inside = (y + ky) * cols + x + kx < rows * cols;
        if (fault == Fault::no_halo) inside = inside && (x + kx) / 4 == x / 4;  // tiles of 4 columns
        // Tiles of 4 x 4 with a halo of one row and one column instead of Ky - 1 and Kx - 1.
        if (fault == Fault::halo_of_one) inside = inside && y + ky <= y / 4 * 4 + 4 && x + kx <= x / 4 * 4 + 4;
        if (!inside) continue;
        std::size_t tap = ky * tap_cols + kx;
        if (fault == Fault::transposed_kernel) tap = kx * tap_rows + ky;
        if (fault == Fault::flipped_kernel) tap = tap_rows * tap_cols - 1 - tap;
        sum += collective::product(in[(y + ky) * cols + x + kx], k[tap]);
      }
    }
    out[i] = static_cast<T>(sum);
  }
};

struct Faulty {
  Fault fault;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Conv2d, Exec, T> const& in, OutputOn<Conv2d, Exec, T> const& out) const {
    Kokkos::parallel_for("tessera::tests::broken_conv2d", Kokkos::RangePolicy<Exec>(exec, 0, in.in.size()),
                         SumTerms<T>{fault, in.in.data(), in.k.data(), out.out.data(), in.in.extent(0), in.in.extent(1),
                                     in.k.extent(0), in.k.extent(1)});
  }
};

ParameterMap const shape{{"rows", std::int64_t{6}}, {"kernel-rows", std::int64_t{2}}, {"kernel-cols", std::int64_t{3}}};

TEST(BrokenConv2d, TheseSumsAreRightOtherwise) { testing::expect_right<Conv2d>(Faulty{Fault::none}, 90, shape); }
TEST(BrokenConv2d, WrapsAtRightEdge) { expect_caught<Conv2d>(Faulty{Fault::wraps_at_right_edge}, 90, shape, "wrong"); }
TEST(BrokenConv2d, TransposedKernel) { expect_caught<Conv2d>(Faulty{Fault::transposed_kernel}, 90, shape, "wrong"); }
TEST(BrokenConv2d, FlippedKernel) { expect_caught<Conv2d>(Faulty{Fault::flipped_kernel}, 90, shape, "wrong"); }
TEST(BrokenConv2d, NoHalo) { expect_caught<Conv2d>(Faulty{Fault::no_halo}, 90, shape, "wrong"); }
// Rows and columns separately: kernels of one column and of one row.
TEST(BrokenConv2d, HaloOfOne) {
  ParameterMap const tall{
      {"rows", std::int64_t{9}}, {"kernel-rows", std::int64_t{3}}, {"kernel-cols", std::int64_t{1}}};
  ParameterMap const wide{
      {"rows", std::int64_t{6}}, {"kernel-rows", std::int64_t{1}}, {"kernel-cols", std::int64_t{3}}};
  ParameterMap const small{
      {"rows", std::int64_t{9}}, {"kernel-rows", std::int64_t{2}}, {"kernel-cols", std::int64_t{2}}};
  expect_caught<Conv2d>(Faulty{Fault::halo_of_one}, 90, tall, "= [3, 0]");
  expect_caught<Conv2d>(Faulty{Fault::halo_of_one}, 90, wide, "= [0, 3]");
  expect_caught<Conv2d>(Faulty{Fault::halo_of_one}, 90, shape, "wrong");
  // A halo of one is right for K = 2.
  testing::expect_right<Conv2d>(Faulty{Fault::halo_of_one}, 90, small);
}
TEST(BrokenConv2d, LastRowMissing) { expect_caught<Conv2d>(Faulty{Fault::last_row_missing}, 90, shape, "[5, 0]"); }

struct GpuTuned {
  static constexpr VariantInfo info{.name = "gpu_tuned", .summary = "packs in registers, on every space"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    kernels::Conv2d<Exec, T, kernels::GpuConv2dTuning<T>> convolve;

    Plan(Exec const& exec, InputOn<Conv2d, Exec, T> const& in)
        : convolve(exec, in.in.extent(0), in.in.extent(1), in.parameters.team) {}
    void operator()(Exec const& exec, InputOn<Conv2d, Exec, T> const& in, OutputOn<Conv2d, Exec, T> const& out) const {
      convolve(exec, in.in, in.k, out.out);
    }
  };
};

// Rows that are whole packs or not; taps that are whole parts or not, and squares with a compiled extent; tiles with
// and without an edge.
TEST(Conv2d, PacksInRegisters) {
  App const app = testing::app_with({rows<Conv2d, GpuTuned>()});
  std::vector<Shape> taps{{5, 5}, {7, 7}, {5, 3}, {7, 5}};
  for (std::size_t tap_rows : {1, 2, 4, 9}) {
    for (std::size_t tap_cols : {1, 3, 5, 8}) taps.push_back({tap_rows, tap_cols});
  }
  for (Row const& row : app.rows) {
    if (!testing::is_wanted(row)) continue;
    for (Shape const& in :
         {Shape{1, 1}, Shape{1, 260}, Shape{260, 1}, Shape{5, 5}, Shape{70, 3}, Shape{75, 133}, Shape{75, 136}}) {
      for (Shape const& k : taps) {
        testing::PatternSource const source(app, testing::Pattern::random, {in, k});
        auto const problem_case = app.read(row.dtype, source, testing::with_defaults(app, {}));
        EXPECT_EQ(testing::run_row(row, *problem_case, problem_case->reference(), 1), "")
            << testing::name_of(app, row) << ", " << to_string(in) << " and " << to_string(k);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::conv2d
