/// \file
/// The serial oracle of random: the round functions as the paper has them, one element at a time, and the mapping of
/// words to elements as collective/random.hpp documents it. It shares no code with the variants.
///
/// Error bounds. Bits, integers and uniform numbers are exact. A normal number is r cos(a) or r sin(a), computed here
/// in double (for float) or long double: at most ((1 + u)^9 - 1) r, see collective/random.hpp.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::random {

namespace {

using Words32 = std::array<std::uint32_t, 4>;
using Words64 = std::array<std::uint64_t, 4>;

Words32 philox(Words32 counter, std::uint64_t key) {
  auto low = static_cast<std::uint32_t>(key);
  auto high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 1; round <= 10; ++round) {
    std::uint64_t const a = counter[0] * 0xD2511F53ULL;
    std::uint64_t const b = counter[2] * 0xCD9E8D57ULL;
    Words32 next{};
    next[0] = counter[1] ^ low ^ static_cast<std::uint32_t>(b >> 32);
    next[1] = static_cast<std::uint32_t>(b);
    next[2] = counter[3] ^ high ^ static_cast<std::uint32_t>(a >> 32);
    next[3] = static_cast<std::uint32_t>(a);
    counter = next;
    low += 0x9E3779B9U;   // the golden ratio
    high += 0xBB67AE85U;  // the root of 3, less 1
  }
  return counter;
}

void mix(std::uint64_t& a, std::uint64_t& b, int bits) {
  a += b;
  b = (b << bits | b >> (64 - bits)) ^ a;
}

Words64 threefry(Words64 x, Words64 const& key) {
  std::array<std::uint64_t, 5> keys{};
  keys[4] = 0x1BD11BDAA9FC1A22ULL;
  for (std::size_t k = 0; k < 4; ++k) {
    keys[k] = key[k];
    keys[4] ^= key[k];
  }
  for (std::size_t subkey = 0;; ++subkey) {
    for (std::size_t k = 0; k < 4; ++k) x[k] += keys[(subkey + k) % 5];
    x[3] += subkey;
    if (subkey == 5) return x;
    bool const even = subkey % 2 == 0;
    mix(x[0], x[1], even ? 14 : 25);
    mix(x[2], x[3], even ? 16 : 33);
    mix(x[0], x[3], even ? 52 : 46);
    mix(x[2], x[1], even ? 57 : 12);
    mix(x[0], x[1], even ? 23 : 58);
    mix(x[2], x[3], even ? 40 : 22);
    mix(x[0], x[3], even ? 5 : 32);
    mix(x[2], x[1], even ? 37 : 32);
  }
}

class Oracle {
 public:
  explicit Oracle(Parameters const& parameters) : of_(parameters) {}

  [[nodiscard]] std::uint32_t bits32(std::uint64_t i, std::uint32_t number) const {
    return of_.generator == Generator::philox ? word32(i, number) : static_cast<std::uint32_t>(word64(i, number));
  }
  [[nodiscard]] std::uint64_t bits64(std::uint64_t i, std::uint32_t number) const {
    if (of_.generator == Generator::threefry) return word64(i, number);
    return word32(i, 2 * number) + (std::uint64_t{word32(i, 2 * number + 1)} << 32);
  }

  [[nodiscard]] std::int32_t integer(std::uint64_t i) const {
    auto const range = static_cast<std::uint64_t>(of_.hi - of_.lo);
    std::uint64_t const all = std::uint64_t{1} << 32;
    for (std::uint32_t number = 0;; ++number) {
      std::uint64_t const product = bits32(i, number) * range;
      if (product % all >= all % range) {
        return static_cast<std::int32_t>(of_.lo + static_cast<std::int64_t>(product / all));
      }
    }
  }

  // The integer of 24 or 53 bits of which a uniform number is a fraction.
  template <class T>
  [[nodiscard]] std::uint64_t digits(std::uint64_t i) const {
    return std::is_same_v<T, double> ? bits64(i, 0) / 2048 : bits32(i, 0) / 256;
  }

 private:
  [[nodiscard]] std::uint32_t word32(std::uint64_t i, std::uint32_t word) const {
    std::uint64_t const counter = i / 4;
    return philox({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), of_.stream, word},
                  of_.seed)[i % 4];
  }
  [[nodiscard]] std::uint64_t word64(std::uint64_t i, std::uint32_t word) const {
    return threefry({i / 4, of_.stream, word, 0}, {of_.seed, 0, 0, 0})[i % 4];
  }

  Parameters const& of_;
};

template <class T>
ExpectedField elements(Parameters const& parameters, ranks::Block rows) {
  Oracle const oracle(parameters);
  ExpectedField out{.name = "out", .shape = {rows.size()}, .value = std::vector<double>(rows.size()), .scale = {}};
  bool const normal = parameters.distribution == Distribution::normal;
  if (normal) out.scale.resize(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    std::uint64_t const i = parameters.offset + rows.begin + k;
    if constexpr (std::is_integral_v<T>) {
      out.value[k] = parameters.distribution == Distribution::integers
                         ? oracle.integer(i)
                         : static_cast<double>(static_cast<std::int32_t>(oracle.bits32(i, 0)));
    } else {
      using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;
      Wide const all = std::is_same_v<T, double> ? 0x1p53L : 0x1p24L;
      if (normal) {
        std::uint64_t const even = i / 2 * 2;
        Wide const u = static_cast<Wide>(oracle.digits<T>(even) + 1) / all;
        Wide const r = std::sqrt(-2 * std::log(u));
        Wide const angle = 2 * std::numbers::pi_v<Wide> * (static_cast<Wide>(oracle.digits<T>(even + 1)) / all);
        out.value[k] = static_cast<double>(r * (i == even ? std::cos(angle) : std::sin(angle)));
        out.scale[k] = static_cast<double>(r);
      } else {
        int const more = parameters.distribution == Distribution::uniform_positive ? 1 : 0;
        out.value[k] = static_cast<double>(static_cast<Wide>(oracle.digits<T>(i) + more) / all);
      }
    }
  }
  return out;
}

// All host cores compute the elements, each a part.
template <class T>
std::vector<ExpectedField> rows_of(Parameters const& parameters, ranks::Block rows) {
  if (rows.size() == 0) return list_of(elements<T>(parameters, rows));
  return joined_reference({{"out", dtype_of<T>, {rows.size()}, nullptr}}, part_elements(), [&](ranks::Block some) {
    return list_of(elements<T>(parameters, {rows.begin + some.begin, rows.begin + some.end}));
  });
}

}  // namespace

template <class T>
std::vector<ExpectedField> Random::reference(Input<T, Kokkos::HostSpace> const& input) {
  return rows_of<T>(input.parameters, {0, input.parameters.count});
}

template <class T>
std::vector<ExpectedField> Random::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                     std::vector<ranks::Block> const& rows, ranks::Part const&) {
  return rows_of<T>(input.parameters, rows.front());
}

}  // namespace tessera::random

template struct tessera::References<tessera::random::Random>;
