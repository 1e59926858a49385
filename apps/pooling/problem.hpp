#pragma once
/// \file
/// pooling: out[i] = op(a[max(0, i - window + 1)] .. a[i]), with op one of sum, mean, max.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/collective/thread/window_run.hpp>
#include <tessera/core/array_problem.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/shared_by_rows.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/halo.hpp>

namespace tessera::pooling {

enum class PoolingOp : std::uint8_t { sum, mean, max };

struct Parameters {
  std::int64_t window = 3;
  PoolingOp op = PoolingOp::sum;
  std::int64_t tile = 0;
  std::int64_t team = 0;
  std::size_t first = 0;  ///< index of the first element, in the reference of a part of the array (core/problem.hpp)

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    return {{&Parameters::window,
             number_parameter("window", "elements of a window; it ends at the output's own element", 1)},
            {&Parameters::op,
             {.name = "op", .help = "result per window: sum, mean (of the elements present) or max"},
             {{"sum", PoolingOp::sum}, {"mean", PoolingOp::mean}, {"max", PoolingOp::max}}},
            {&Parameters::tile, tile_parameter("elements of a tile (scratch_halo); 0: the variant's choice", 1 << 20)},
            {&Parameters::team, team_parameter()}};
  }
};

struct Pooling : ArrayProblem<Parameters>, SharedByRows<Split::rows> {
  static constexpr AppInfo info{.name = "pooling",
                                .summary = "out[i] = op(a[max(0, i - window + 1)] .. a[i])",
                                .traffic = {.pattern = Traffic::Pattern::halo}};

  static constexpr std::array data = data_kinds;
  static constexpr int exact_reference_doubles = 1;

  /// a [n].
  template <class T, class Memory>
  using Input = SingleInput<T const*, Memory, Parameters>;

  /// Throws UserError for means of integers.
  static void check(Parameters const& parameters, DType dtype) {
    if (dtype == DType::int32 && parameters.op == PoolingOp::mean) {
      throw UserError("op mean of int32 (a mean of integers is not an integer); use dtype float or double, or op sum");
    }
  }

  /// Exact: positive whole numbers, sparse in wide windows; for maxima 24 random bits.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const& parameters) {
    if (draw.data != DataKind::exact || parameters.op == PoolingOp::max) return drawn<T>(draw);
    return static_cast<T>(Sparsity::of(draw.terms).value(draw.seed, draw.field, 0, draw.index));
  }
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const& parameters) {
    return std::min(static_cast<std::uint64_t>(parameters.window), static_cast<std::uint64_t>(count_of(input[0])));
  }

  /// At most three operations per element are needed for any window (van Herk; Gil and Werman).
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    double const operations = static_cast<double>(std::min<std::int64_t>(parameters.window - 1, 3));
    return {.bytes = 2 * n * static_cast<double>(size_of(dtype)),
            .flops = n * (operations + (parameters.op == PoolingOp::mean ? 1 : 0))};
  }

  /// One addition after the other. A mean also takes a division, by a number that is itself rounded if it is very
  /// large.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const& parameters) {
    double const most =
        std::max(1.0, std::min(static_cast<double>(parameters.window), static_cast<double>(count_of(input[0]))));
    return most - 1 + roundings_of_mean(parameters, most);
  }
  [[nodiscard]] static double roundings_of_mean(Parameters const& parameters, double most) {
    if (parameters.op != PoolingOp::mean) return 0;
    return most > 0x1p24 ? 2 : 1;
  }

  [[nodiscard]] static ranks::Reach reach(std::vector<Shape> const& input, Parameters const& parameters) {
    return {.before = std::min(static_cast<std::size_t>(parameters.window) - 1, count_of(input[0]))};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Calls `body(op)` with the operator that folds a window.
template <class T, class Body>
void with_operator(PoolingOp op, Body const& body) {
  if (op == PoolingOp::max) {
    body(collective::Max<T>{});
  } else {
    body(collective::Sum<T>{});
  }
}

/// Converts folded windows of n elements to results.
template <class T>
[[nodiscard]] thread::FinishWindow<T> finish_of(std::size_t n, Parameters const& parameters) {
  return thread::FinishWindow<T>::of(n, static_cast<std::size_t>(parameters.window), parameters.op == PoolingOp::mean);
}

}  // namespace tessera::pooling
