#pragma once
/// \file
/// transformer_block: a = x + attention(layernorm(x)), y = a + mlp(layernorm(a)), as in the GPT-2 model.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/host_threads.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/transformer_block.hpp>
#include <tessera/core/types.hpp>

namespace tessera::transformer_block {

struct TransformerBlock : TransformerBlockProblem {
  static constexpr AppInfo info{
      .name = "transformer_block",
      .summary = "a = x + attention(layernorm(x)); y = a + mlp(layernorm(a))",
      .traffic = {.pattern = Traffic::Pattern::sums, .launches = 15, .field = w1_, .times = 2}};

  /// y [batch, tokens, d_model].
  template <class T, class Memory>
  struct Output {
    Array<T***, Memory> y;

    static constexpr std::array<std::string_view, 1> names{"y"};
    static auto fields(auto& self) { return std::tie(self.y); }
  };

  /// Throws UserError as needs_block() does.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const& parameters) {
    needs_block(input, parameters);
    return {input[x_]};
  }

  /// Each field read and y written once. Multiply-adds of the products and, for each pair of a query and a key that it
  /// sees, 2 d_model for its score and its value.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double elements = wide_count_of(input[x_]);
    for (Shape const& shape : input) elements += wide_count_of(shape);
    double const tokens = static_cast<double>(input[x_][1]);
    double const d = static_cast<double>(input[x_][2]);
    double const d_ff = static_cast<double>(input[w1_][0]);
    double const rows = static_cast<double>(input[x_][0]) * tokens;
    double const keys = parameters.causal ? (tokens + 1) / 2 : tokens;
    return {.bytes = elements * static_cast<double>(size_of(dtype)),
            .flops = rows * (8 * d * d + 4 * d * d_ff + 4 * keys * d)};
  }

  /// The longest chain of one stage of any variant: sums of a row, of a product, of weighted values key by key. The
  /// error of the stages before enters through the scale (reference.cpp).
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    auto const longest_row = static_cast<double>(std::max(input[x_][2], input[w1_][0]));
    return std::max({longest_row + 16, 2 * static_cast<double>(input[x_][1]) + 16, 64.0});
  }

  /// Returns the longest sum: over a row, the hidden units or the keys.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const&) {
    return std::max({input[x_][1], input[x_][2], input[w1_][0]});
  }

  /// All ranks have x and all weights, and get all of y.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) {
    return std::vector<Split>(count_, Split::whole);
  }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::whole}; }

  static constexpr int reference_doubles = 5;  ///< a value, two scales, two bounds for bfloat16
  /// An element of a stage takes seven doubles: a value, its scale, four probes, and a value with factors of bfloat16.
  /// The normalised rows, keys, values and transposed keys of one sequence are held, and on each thread all stages of
  /// 32 rows. A weight takes two and a half.
  [[nodiscard]] static double reference_temporaries(std::vector<Shape> const& input, DType) {
    double const tokens = static_cast<double>(input[x_][1]);
    double const d = static_cast<double>(input[x_][2]);
    double const d_ff = static_cast<double>(input[w1_][0]);
    double const of_blocks = std::min(32 * static_cast<double>(host_threads()), tokens) * (8 * d + 2 * d_ff);
    return sizeof(double) * (7 * (4 * tokens * d + of_blocks) + 2.5 * (4 * d * d + 2 * d * d_ff));
  }
  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);

  /// Returns the reference of some rows of y, in ascending order and each complete: their own stages, and keys and
  /// values of the tokens that they see.
  template <class T>
  [[nodiscard]] static ExpectedField reference_of_rows(Input<T, Kokkos::HostSpace> const& input,
                                                       std::vector<std::size_t> const& rows);
};

}  // namespace tessera::transformer_block
