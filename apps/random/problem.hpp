#pragma once
/// \file
/// random: out[i] = element offset + i of a stream of random numbers, a function of (seed, stream, index) only.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <tessera/collective/random.hpp>
#include <tessera/core/info.hpp>
#include <tessera/core/no_input.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/block.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::random {

enum class Generator : std::uint8_t { philox, threefry };
enum class Distribution : std::uint8_t { bits, uniform, uniform_positive, normal, integers };

/// The fewest numbers of a pool that statistics can judge (drawn_numbers.hpp).
inline constexpr std::size_t fewest_drawn = std::size_t{1} << 14;

struct Parameters {
  std::uint64_t count = 0;
  std::uint64_t seed = 42;
  DType dtype = DType::float32;
  std::uint32_t stream = 0;
  std::uint64_t offset = 0;
  Generator generator = Generator::philox;
  Distribution distribution = Distribution::uniform;
  std::int64_t lo = 0;
  std::int64_t hi = 6;

  [[nodiscard]] static MemberSpecs<Parameters> specs() {
    double const most = std::numeric_limits<std::uint32_t>::max();
    return {
        {&Parameters::count, count_parameter()},
        {&Parameters::seed, seed_parameter()},
        {&Parameters::dtype,
         dtype_parameter(),
         {{"float", DType::float32}, {"double", DType::float64}, {"int32", DType::int32}}},
        {&Parameters::stream, number_parameter("stream", "number of the stream, independent of the others", 0, most)},
        {&Parameters::offset, number_parameter("offset", "index of the first element in the stream", 0, 0x1p62)},
        {&Parameters::generator,
         {.name = "generator", .help = "Philox4x32-10 or Threefry4x64-20"},
         {{"philox", Generator::philox}, {"threefry", Generator::threefry}}},
        {&Parameters::distribution,
         {.name = "distribution",
          .help = "bits and integers are int32, uniform_positive (0, 1] and normal float or double; uniform is [0, 1), "
                  "in int32 the same as bits"},
         {{"bits", Distribution::bits},
          {"uniform", Distribution::uniform},
          {"uniform_positive", Distribution::uniform_positive},
          {"normal", Distribution::normal},
          {"integers", Distribution::integers}}},
        {&Parameters::lo, number_parameter("lo", "the least of the integers", -0x1p31, 0x1p31 - 1)},
        {&Parameters::hi, number_parameter("hi", "all integers are below it", -0x1p31, 0x1p31)}};
  }

  /// Throws UserError if there is no integer between lo and hi.
  void check() const {
    if (lo < hi) return;
    throw UserError("hi = " + std::to_string(hi) + " is not above lo = " + std::to_string(lo) +
                    " (integers are at least lo and below hi); use a larger hi");
  }
};

struct Random {
  using Parameters = random::Parameters;
  static constexpr AppInfo info{
      .name = "random",
      .summary = "out[i] = element offset + i of a random stream: bits, uniform, normal, integers",
      .traffic = {.pattern = Traffic::Pattern::nothing}};

  template <class T, class Memory>
  using Input = NoInput<Parameters>;
  /// out [count].
  template <class T, class Memory>
  using Output = SingleOutput<T*, Memory>;

  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t, Parameters const&) { return {}; }
  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const&, Parameters const& parameters) {
    return {{parameters.count}};
  }
  /// Never called: there is no input field.
  template <class T>
  [[nodiscard]] static T element(Draw const&, Parameters const&) {
    return {};
  }

  /// Throws UserError if the dtype does not have the distribution.
  static void check(Parameters const& parameters, DType dtype) {
    Distribution const which = parameters.distribution;
    bool const of_integers = which == Distribution::bits || which == Distribution::integers;
    if (which == Distribution::uniform || of_integers == (dtype == DType::int32)) return;
    throw UserError("the distribution does not suit " + std::string(name_of(dtype)) + " (" +
                    (of_integers ? "bits and integers are int32); use --dtype int32"
                                 : "uniform_positive and normal are real); use --dtype float or double"));
  }

  [[nodiscard]] static Work work(std::vector<Shape> const&, Parameters const& parameters, DType dtype) {
    return {.bytes = static_cast<double>(parameters.count) * static_cast<double>(size_of(dtype)), .flops = 0};
  }
  /// Only normals are rounded.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const& parameters) {
    return parameters.distribution == Distribution::normal ? collective::normal_roundings : 0;
  }
  /// An element is no sum.
  [[nodiscard]] static std::size_t terms(std::vector<Shape> const&, Parameters const&) { return 1; }

  [[nodiscard]] static std::vector<Split> input_split(Parameters const&) { return {}; }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows}; }

  /// The bits of elements offset to offset + count - 1 as little-endian words of 32 bits, without end if the count is
  /// the largest. Throws UserError if another distribution than bits, or its equal uniform, is asked for.
  static void raw_bytes(Parameters const& parameters,
                        std::function<bool(unsigned char const*, std::size_t)> const& take);

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    ranks::Part const& part);
};

/// Calls `body(words, distribution)` with the objects of collective/random.hpp that the parameters name, in T.
template <class T, class Body>
void with_elements(Parameters const& parameters, Body const& body) {
  auto const with_words = [&](auto const& distribution) {
    if (parameters.generator == Generator::philox) {
      body(collective::RandomWords<collective::Philox4x32>(parameters.seed, parameters.stream), distribution);
    } else {
      body(collective::RandomWords<collective::Threefry4x64>(parameters.seed, parameters.stream), distribution);
    }
  };
  if constexpr (std::is_integral_v<T>) {
    if (parameters.distribution == Distribution::integers) {
      with_words(collective::Integers(parameters.lo, parameters.hi));
    } else {
      with_words(collective::Bits{});
    }
  } else if (parameters.distribution == Distribution::normal) {
    with_words(collective::Normal<T>{});
  } else if (parameters.distribution == Distribution::uniform_positive) {
    with_words(collective::PositiveUniform<T>{});
  } else {
    with_words(collective::Uniform<T>{});
  }
}

}  // namespace tessera::random
