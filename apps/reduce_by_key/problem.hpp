#pragma once
/// \file
/// reduce_by_key: one result per run of equal neighbouring keys: the fold of its values, its length, or only its key.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/core/balanced.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/table/app.hpp>

namespace tessera::reduce_by_key {

/// The result that is written for a run, in addition to its key.
enum class Mode : std::uint8_t {
  reduce,   ///< the fold of its values
  lengths,  ///< its length
  unique,   ///< nothing
};

struct Parameters {
  Mode mode = Mode::reduce;
  collective::OperatorKind op = collective::OperatorKind::sum;
  std::int64_t mean = 32;
  std::int64_t team = 0;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    using collective::OperatorKind;
    return {{&Parameters::mode,
             {.name = "mode",
              .help = "result of a run besides its key: the fold of its values, its length, or none (unique)"},
             {{"reduce", Mode::reduce}, {"lengths", Mode::lengths}, {"unique", Mode::unique}}},
            {&Parameters::op,
             {.name = "op", .help = "operator of the fold"},
             {{"sum", OperatorKind::sum}, {"max", OperatorKind::max}, {"min", OperatorKind::min}}},
            {&Parameters::mean,
             extent_parameter("mean",
                              "mean length of the generated runs, a power of two up to 256; 1: nearly all keys differ "
                              "from their neighbours; 0: one run",
                              0, 256)},
            {&Parameters::team, team_parameter()}};
  }

  /// Throws UserError if the mean length is neither 0 nor a power of two up to 256.
  void check() const {
    if (mean >= 0 && mean <= 256 && (mean == 0 || std::has_single_bit(static_cast<std::uint64_t>(mean)))) return;
    throw UserError("--mean " + std::to_string(mean) + " is no mean length (it is 0 or a power of two up to 256); " +
                    "choose one of these");
  }
};

/// Generated runs: where the run of an element begins is a function of the element's index, so that any rank or thread
/// can generate its part. Each element is a head with the same probability: lengths are geometric.
struct Runs {
  std::uint64_t seed;
  std::uint64_t mean;

  /// Returns the first element of the run of element i.
  [[nodiscard]] std::uint64_t head_of(std::uint64_t i) const {
    if (mean == 0) return 0;
    struct Block {
      Runs runs;
      std::uint64_t number;
      std::uint64_t heads;
      std::uint64_t head_before;
    };
    // Neighbours need the same block: each thread keeps its last one. No block belongs to a mean of 0.
    thread_local Block last{};
    if (last.runs.mean != mean || last.runs.seed != seed || last.number != i / 64) {
      last = {*this, i / 64, heads_of(i / 64), 0};
      std::uint64_t before = last.number;
      std::uint64_t heads = 0;
      while (heads == 0 && before > 0) heads = heads_of(--before);
      if (heads != 0) last.head_before = last_head(before, heads);
    }
    std::uint64_t const heads = last.heads & (~std::uint64_t{0} >> (63 - i % 64));
    return heads != 0 ? last_head(last.number, heads) : last.head_before;
  }

  /// Returns which elements of a block of 64 are heads: the bits that are set in as many random words as the mean's
  /// logarithm.
  [[nodiscard]] std::uint64_t heads_of(std::uint64_t block) const {
    std::uint64_t heads = ~std::uint64_t{0};
    for (std::uint64_t word = 1; word < mean; word *= 2) heads &= random_bits(seed, 2, block * 256 + word);
    return heads;
  }

  /// Returns the last of some heads, at least one, of a block.
  [[nodiscard]] static std::uint64_t last_head(std::uint64_t block, std::uint64_t heads) {
    return block * 64 + static_cast<std::uint64_t>(std::bit_width(heads)) - 1;
  }

  /// Returns the key of element i: one of 2^20 numbers, of both signs if K has one. They differ in their highest bits,
  /// their lowest, or both; a double holds each. Runs that are apart may have the same key.
  template <class K>
  [[nodiscard]] double key_of(std::uint64_t i) const {
    constexpr int shift = std::min(std::numeric_limits<K>::digits, 50) - 10;
    std::uint64_t const bits = random_bits(seed, 3, head_of(i));
    auto const high = static_cast<double>(bits >> 54) - (std::is_signed_v<K> ? 512 : 0);
    return high * static_cast<double>(std::uint64_t{1} << shift) + static_cast<double>((bits >> 44) % 1024);
  }
  /// The same, but one run in 8 is NaN, one has zeros of both signs, and one is an infinity.
  template <class K>
  [[nodiscard]] double adversarial_key_of(std::uint64_t i) const {
    if constexpr (std::is_floating_point_v<K>) {
      switch (random_bits(seed, 4, head_of(i)) % 8) {
        case 0: return std::numeric_limits<double>::quiet_NaN();
        case 1: return i % 2 == 0 ? 0.0 : -0.0;
        case 2: return std::copysign(std::numeric_limits<double>::infinity(), key_of<K>(i));
        default: break;
      }
    }
    return key_of<K>(i);
  }
};

/// The type of the values of keys of type T: T, or floats as wide as the other integers.
template <class T>
using ValueOf = std::conditional_t<std::is_floating_point_v<T> || std::is_same_v<T, std::int32_t>, T,
                                   std::conditional_t<sizeof(T) == 8, double, float>>;

/// Returns the mode. Throws Skip if a run of n elements may have a length that the output cannot hold.
[[nodiscard]] inline Mode with_lengths(Mode mode, std::size_t n) {
  if (mode == Mode::lengths && n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw Skip(std::to_string(n) + " elements (lengths are 32-bit integers: at most 2^31 - 1)");
  }
  return mode;
}

struct ReduceByKey {
  static constexpr AppInfo info{.name = "reduce_by_key",
                                .summary = "one fold, length or key per run of equal neighbouring keys",
                                .traffic = {.pattern = Traffic::Pattern::runs, .launches = 3}};
  using Parameters = reduce_by_key::Parameters;

  static constexpr std::array data = data_kinds;
  static constexpr bool more_integers = true;

  /// keys [n], values [n].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> keys;
    Array<ValueOf<T> const*, Memory> values;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"keys", "values"};
    static auto fields(auto& self) { return std::tie(self.keys, self.values); }
  };

  /// unique_keys [n], sums [n] with `--mode reduce`, lengths [n] with `--mode lengths`: only the first `count` elements
  /// are written. count []: the number of runs.
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> unique_keys;
    Array<ValueOf<T>*, Memory> sums;
    Array<std::int32_t*, Memory> lengths;
    Array<std::int64_t, Memory> count;

    static constexpr std::array<std::string_view, 4> names{"unique_keys", "sums", "lengths", "count"};
    static auto fields(auto& self) { return std::tie(self.unique_keys, self.sums, self.lengths, self.count); }
  };

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const&) { return {{size}, {size}}; }

  /// Throws UserError if there are not as many keys as values.
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const& parameters) {
    if (input[0] != input[1]) {
      throw UserError("keys has shape " + to_string(input[0]) + " and values has shape " + to_string(input[1]) +
                      " (each value has a key); give as many keys as values");
    }
    std::size_t const n = input[0][0];
    return {{n}, {parameters.mode == Mode::reduce ? n : 0}, {parameters.mode == Mode::lengths ? n : 0}, {}};
  }

  template <class T>
  [[nodiscard]] static double element(Draw const& draw, Parameters const& parameters) {
    if (draw.field == 0) {
      Runs const runs{draw.seed, static_cast<std::uint64_t>(parameters.mean)};
      bool const adversarial = draw.data == DataKind::adversarial;
      return adversarial ? runs.adversarial_key_of<T>(draw.index) : runs.key_of<T>(draw.index);
    }
    using Value = ValueOf<T>;
    return static_cast<double>(draw.data == DataKind::exact ? exact_term<Value>(draw, 0, draw.index)
                                                            : drawn<Value>(draw));
  }

  /// What must be read: the number of runs, which are written, is known only afterwards.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    auto const n = static_cast<double>(input[0][0]);
    bool const has_values = parameters.mode == Mode::reduce;
    // A value is as wide as its key.
    return {.bytes = n * static_cast<double>(size_of(dtype)) * (has_values ? 2 : 1) + 8, .flops = n};
  }

  /// Assumes the worst order of one run.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const& input, Parameters const&) {
    return static_cast<double>(input[0][0]);
  }

  /// Several ranks share the input in blocks, and results by their places; all ranks have the count.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {Split::rows, Split::rows}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) {
    return {Split::rows, Split::rows, Split::rows, Split::whole};
  }

  /// Generated runs are hardly longer than this; the reference knows the longest.
  [[nodiscard]] static std::uint64_t terms(std::vector<Shape> const& input, Parameters const& parameters) {
    std::uint64_t const n = input[0][0];
    return parameters.mean == 0 ? n : std::min(n, 32 * static_cast<std::uint64_t>(parameters.mean));
  }

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    ranks::Part const& part);
};

/// Returns the fields that a row writes with this mode.
[[nodiscard]] inline std::vector<WrittenField> written_fields(Mode mode) {
  std::vector<WrittenField> fields{{.field = "count"}, {.field = "unique_keys", .count_field = "count"}};
  if (mode == Mode::reduce) fields.push_back({.field = "sums", .count_field = "count"});
  if (mode == Mode::lengths) fields.push_back({.field = "lengths", .count_field = "count"});
  return fields;
}

/// True if a run begins at element i. NaN differs from every key.
template <class Keys>
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool is_head(Keys const& keys, std::size_t i) {
  return i == 0 || keys(i) != keys(i - 1);
}

}  // namespace tessera::reduce_by_key
