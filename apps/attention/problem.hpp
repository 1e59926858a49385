#pragma once
/// \file
/// attention: out[b, :] = softmax(scale * q[b, :] k^T) v, for queries q [B, d], keys k [n, d] and values v [n, d].

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/shared_by_rows.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::attention {

/// On several ranks all matrices lie in blocks of rows: queries with their outputs, keys with their values.
struct Attention : SharedByRows<Split::rows, Split::rows, Split::rows> {
  static constexpr AppInfo info{.name = "attention",
                                .summary = "out[b, :] = softmax(scale * q[b, :] k^T) v",
                                .traffic = {.pattern = Traffic::Pattern::queries, .launches = 3, .field = 1}};

  struct Parameters {
    double scale = 1;
    std::int64_t queries = 0;
    std::int64_t dim = 0;
    std::int64_t chunks = 0;
    std::int64_t team = 0;

    [[nodiscard]] static MemberSpecs<Parameters> specs() {
      return {
          {&Parameters::scale,
           {.name = "scale", .help = "factor of the scores before the softmax; 1 / sqrt(d) is usual"}},
          {&Parameters::queries, extent_parameter("queries", "rows of the generated q; 0: 8", 0, 1LL << 40)},
          {&Parameters::dim,
           extent_parameter("dim", "columns of the generated q, k and v, which have --size / dim keys; 0: 64", 0,
                            1LL << 40)},
          {&Parameters::chunks,
           number_parameter("chunks", "chunks that split_sequence cuts the keys into; 0: as many as fill the machine",
                            0, 1 << 20)},
          {&Parameters::team, team_parameter()}};
    }
  };

  /// q [B, d], k [n, d], v [n, d].
  template <class T, class Memory>
  struct Input {
    Array<T const**, Memory> q;
    Array<T const**, Memory> k;
    Array<T const**, Memory> v;
    Parameters parameters;

    static constexpr std::array<std::string_view, 3> names{"q", "k", "v"};
    static auto fields(auto& self) { return std::tie(self.q, self.k, self.v); }
  };

  /// out [B, d]; zeros if there are no keys.
  template <class T, class Memory>
  using Output = SingleOutput<T**, Memory>;

  /// `size` is the number of elements of k; v has as many: n = size / d.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    std::size_t const dim =
        parameters.dim > 0 ? static_cast<std::size_t>(parameters.dim) : std::min<std::size_t>(64, size);
    std::size_t const queries = parameters.queries > 0 ? static_cast<std::size_t>(parameters.queries) : 8;
    if (dim > size && size > 0) {
      throw UserError("--dim " + std::to_string(dim) + " is more than --size " + std::to_string(size) +
                      " (a key has dim elements); choose a smaller dim or a larger size");
    }
    std::size_t const keys = dim > 0 ? size / dim : 0;
    return {{size > 0 ? queries : 0, dim}, {keys, dim}, {keys, dim}};
  }

  /// Throws UserError, with both shapes, if the extents do not match.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    Shape const& q = input[0];
    Shape const& k = input[1];
    Shape const& v = input[2];
    if (q[1] != k[1]) {
      throw UserError("q has shape " + to_string(q) + " and k " + to_string(k) +
                      " (a row of q is multiplied by a row of k); give both the same number of columns");
    }
    if (k != v) {
      throw UserError("k has shape " + to_string(k) + " and v " + to_string(v) +
                      " (every key has a value); give them the same shape");
    }
    return {q};
  }

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 5;  ///< includes the bounds for bfloat16 factors (float only)

  /// Random: queries and values in [-1, 1), keys in [-1/2, 1/2); scores have magnitudes of a few units, as after a
  /// layer that normalises. Exact: for every other query some keys have a score of 0, and the others a score so low
  /// that their weights vanish. The result is the mean of the first keys' values, which are small whole numbers, so one
  /// key too many or too few is detected. Each key has a score of 0 for one of these queries. The queries in between
  /// are random.
  template <class T>
  [[nodiscard]] static T element(Draw const& draw, Parameters const& parameters) {
    T const random = drawn<T>(draw);
    if (draw.data == DataKind::adversarial) return random;
    if (draw.data == DataKind::random) return draw.field == 1 ? random / 2 : random;
    // Keys have classes; each run of `classes` neighbours has one key of each class. An exact query selects one class.
    Shape const& q = draw.shapes->at(0);
    std::size_t const keys = draw.shapes->at(1)[0];
    std::size_t const dim = q[1];
    std::size_t const exact_queries = (q[0] + 1) / 2;
    std::size_t const classes = std::bit_floor(std::clamp<std::size_t>(std::min(exact_queries, dim / 2), 1, 4));
    // After one column per class come pairs of columns with equal keys, so that opposite elements of a query cancel.
    std::size_t const pairs = (dim - classes) / 2;
    std::size_t const row = draw.index / dim;
    std::size_t const col = draw.index % dim;
    bool const paired = col >= classes && col < classes + 2 * pairs;
    bool const second = paired && col >= classes + pairs;
    Draw first = draw;
    if (second) first.index -= pairs;
    if (draw.field == 0) {
      if (row % 2 != 0) return random;
      if (!paired) {
        double const weight = 256 / std::clamp(std::abs(parameters.scale), 0x1p-20, 1.0);
        bool const own = col == row / 2 % classes;
        return own && col < classes ? static_cast<T>(parameters.scale < 0 ? -weight : weight) : T(0);
      }
      T const value = whole_value<T>(first, 4) / 8;
      return second ? -value : value;
    }
    if (draw.field == 1) {
      if (col >= classes) return whole_value<T>(first, 4) / 16;
      std::uint64_t const turn = random_bits(draw.seed, 7, row / classes);
      return (row + turn) % classes == col ? T(0) : T(-0.5);
    }
    // Values are so small that a float holds their sum over a class of keys: up to 2^25 keys of 4 classes.
    std::size_t const of_class = std::max<std::size_t>(1, keys / classes);
    std::uint64_t const most = (std::uint64_t{1} << 22) / std::bit_ceil(of_class);
    std::uint64_t const values = std::clamp<std::uint64_t>(most, of_class <= std::size_t{1} << 22 ? 4 : 2, 64);
    return static_cast<T>(1 + (random_bits(draw.seed, draw.field, draw.index) >> 32) % values) / 8;
  }

  /// Returns the number of terms of a sum, which is the number of keys.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const&) { return input[1][0]; }

  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const queries = static_cast<double>(input[0][0]);
    double const keys = static_cast<double>(input[1][0]);
    double const dim = static_cast<double>(input[0][1]);
    return {.bytes = 2 * (queries + keys) * dim * static_cast<double>(size_of(dtype)),
            .flops = 4 * queries * keys * dim};
  }

  /// Assumes one key after the other. Each key takes an exponential, a product and an addition in the sum of weights
  /// and in the sum of weighted values, and the same again to rescale both sums to a larger maximum.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return 12.0 * static_cast<double>(input[1][0]) + 12;
  }

  /// A row of the output needs its query, all keys and all values.
  [[nodiscard]] static std::vector<ranks::Box> needs(std::vector<Shape> const& input,
                                                     std::vector<ranks::Box> const& output) {
    return {output[0], ranks::whole_box(input[1]), ranks::whole_box(input[2])};
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

}  // namespace tessera::attention
