#pragma once
/// \file
/// dot: out = sum a[i] * b[i].

#include <array>
#include <cstdint>
#include <vector>

#include <tessera/collective/accumulator.hpp>
#include <tessera/core/balanced.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/pair_problem.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::dot {

struct Parameters {
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() { return {{&Parameters::team, team_parameter()}}; }
};

struct Dot : PairProblem<Parameters> {
  static constexpr AppInfo info{.name = "dot",
                                .summary = "out = a[0] * b[0] + ... + a[n-1] * b[n-1]",
                                .traffic = {.pattern = Traffic::Pattern::totals, .launches = 2}};
  static constexpr bool short_floats = true;

  static constexpr std::array data = data_kinds;

  /// Exact: positive whole numbers. In a long sum only one product of each block is not zero: in every other block a
  /// has one number among zeros and b is dense; in the blocks in between, b has one number and a is dense. Wrong pairs
  /// then give another sum. With 16-bit floats half of the products are negative, so that the dtype can hold the sum
  /// (core/balanced.hpp).
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const& parameters) {
    if (draw.data != DataKind::exact) return drawn<T>(draw);
    if constexpr (ShortFloat<T>) {
      BalancedTerm const term = balanced_term(draw.terms, draw.index);
      if (term.remainder) return T(draw.field == 0 ? balance_remainder(draw.seed, 0) : 1);
      Draw of_term = draw;
      of_term.index = term.of;
      float const value = element<float>(of_term, parameters);
      return draw.field == 0 ? static_cast<float>(term.sign) * value : value;
    }
    std::uint64_t const factor = draw.terms > (1 << 14) ? 4 : 16;
    Sparsity const sparsity = Sparsity::of(draw.terms, factor);
    bool const sparse = sparsity.block_of(draw.index) % 2 == draw.field;
    if (sparse && !sparsity.counts(draw.seed, 0, 0, draw.index)) return T(0);
    Sparsity const values{1, draw.field == 0 ? sparsity.largest : factor};
    return static_cast<T>(values.dense(draw.seed, draw.field, 0, draw.index));
  }

  /// out [], a scalar.
  template <class T, class Memory>
  using Output = SingleOutput<T, Memory>;

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    needs_equal_lengths(input, "dot multiplies them element by element");
    return {{}};
  }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const n = static_cast<double>(count_of(input[0]));
    return {.bytes = (2 * n + 1) * static_cast<double>(size_of(dtype)), .flops = 2 * n};
  }

  /// Assumes the worst order: one multiplication, then one addition after the other.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return 1 + static_cast<double>(count_of(input[0]));
  }

  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const&) {
    return count_of(input[0]);
  }

  /// How several ranks share the input.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows, Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::whole}; }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    ranks::Part const& part);
};

using collective::Accumulator;
using collective::product;

/// The output's memory as one accumulator.
template <class T, class Memory>
  requires(sizeof(Accumulator<T>) == sizeof(T))
[[nodiscard]] Kokkos::View<Accumulator<T>, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>> accumulator_of(
    Array<T, Memory> const& out) {
  return Kokkos::View<Accumulator<T>, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
      reinterpret_cast<Accumulator<T>*>(out.data()));
}

template <class Sum, class Out>
struct Store {
  Sum sum;
  Out out;
  KOKKOS_FUNCTION void operator()(int) const { out() = sum(); }
};

/// The accumulator in which the output is summed: the output's memory itself. For 16-bit floats, whose sum is a float,
/// it is separate memory, and a further launch stores the result.
template <ExecutionSpace Exec, class T>
class Total {
  using Memory = typename Exec::memory_space;

 public:
  explicit Total(std::string const& label) {
    if constexpr (ShortFloat<T>) sum_ = Kokkos::View<float, Memory>(label);
  }

  /// Returns the accumulator for an output.
  [[nodiscard]] auto of(Array<T, Memory> const& out) const {
    if constexpr (ShortFloat<T>) {
      return sum_;
    } else {
      return accumulator_of(out);
    }
  }

  /// Enqueues the store to the output, if the accumulator is separate memory.
  void store(Exec const& exec, Array<T, Memory> const& out) const {
    if constexpr (ShortFloat<T>) {
      Kokkos::parallel_for("tessera::dot::store", over<int>(exec, 1),
                           Store<Kokkos::View<float, Memory>, Array<T, Memory>>{sum_, out});
    }
  }

 private:
  Kokkos::View<float, Memory> sum_;
};

}  // namespace tessera::dot
