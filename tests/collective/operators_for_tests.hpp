#pragma once
// Operators that reveal a wrong order, a lost or doubled element and a missing identity: associative, with identity,
// not commutative. Each defines its Value and makes values from random bits. All values are exact, trivially copyable
// and without padding, so that results can be compared byte by byte.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <Kokkos_Macros.hpp>

#include <tessera/collective/operators.hpp>

namespace tessera::test {

/// Returns 64 pseudorandom bits for a counter (splitmix64).
[[nodiscard]] KOKKOS_INLINE_FUNCTION std::uint64_t random_bits(std::uint64_t counter) {
  std::uint64_t z = counter * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// The map x -> a x + b modulo a prime.
template <class Word>
struct Affine {
  Word a;
  Word b;
};

/// Composition, the earlier map first. With 2-byte words a value has 4 bytes (which look-back packs), with 4-byte words
/// 8.
template <class Word>
struct Compose {
  using Value = Affine<Word>;
  // The largest primes below 2^16 and 2^32.
  static constexpr std::uint64_t prime = sizeof(Word) == 2 ? 65521u : 4294967291u;

  [[nodiscard]] KOKKOS_FUNCTION constexpr Value identity() const { return {1, 0}; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr Value operator()(Value const& earlier, Value const& later) const {
    std::uint64_t const a = later.a;
    std::uint64_t const b = later.b;
    return {static_cast<Word>(a * earlier.a % prime), static_cast<Word>((a * earlier.b % prime + b) % prime)};
  }
  [[nodiscard]] KOKKOS_FUNCTION static Value sample(std::uint64_t bits) {
    // Never a = 0: such a map would discard all previous values.
    return {static_cast<Word>(1 + (bits >> 32) % (prime - 1)), static_cast<Word>((bits & 0xffffffffu) % prime)};
  }
};

/// A 2 x 2 matrix [[a, b], [c, d]].
struct Matrix {
  std::uint32_t a, b, c, d;
};

/// The product modulo a prime; a value has 16 bytes.
struct Multiply {
  using Value = Matrix;
  static constexpr std::uint64_t prime = 2147483647u;

  [[nodiscard]] KOKKOS_FUNCTION constexpr Matrix identity() const { return {1, 0, 0, 1}; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr Matrix operator()(Matrix const& x, Matrix const& y) const {
    return {sum_of_products(x.a, y.a, x.b, y.c), sum_of_products(x.a, y.b, x.b, y.d),
            sum_of_products(x.c, y.a, x.d, y.c), sum_of_products(x.c, y.b, x.d, y.d)};
  }
  [[nodiscard]] KOKKOS_FUNCTION static Matrix sample(std::uint64_t bits) {
    // Nearly always invertible, so that a product depends on all factors.
    return {static_cast<std::uint32_t>(bits % prime), static_cast<std::uint32_t>((bits >> 32) % prime),
            static_cast<std::uint32_t>((bits >> 16) % prime), 1};
  }

  [[nodiscard]] KOKKOS_FUNCTION static constexpr std::uint32_t sum_of_products(std::uint64_t p, std::uint64_t q,
                                                                               std::uint64_t r, std::uint64_t s) {
    return static_cast<std::uint32_t>((p * q % prime + r * s % prime) % prime);
  }
};

/// The last nonzero value. Few values are nonzero, so that losing one is visible immediately and from far away.
struct LastNonZero {
  using Value = std::int32_t;

  [[nodiscard]] KOKKOS_FUNCTION constexpr std::int32_t identity() const { return 0; }
  [[nodiscard]] KOKKOS_FUNCTION constexpr std::int32_t operator()(std::int32_t earlier, std::int32_t later) const {
    return later != 0 ? later : earlier;
  }
  [[nodiscard]] KOKKOS_FUNCTION static std::int32_t sample(std::uint64_t bits) {
    return bits % 5 == 0 ? static_cast<std::int32_t>(bits >> 40) : 0;
  }
};

/// A segmented sum, which is an operator of the suite itself.
struct SegmentedSum : collective::SegmentedOperator<std::int32_t, collective::Sum<std::int32_t>> {
  using Value = collective::Segmented<std::int32_t>;

  [[nodiscard]] KOKKOS_FUNCTION static Value sample(std::uint64_t bits) {
    return {static_cast<std::int32_t>(bits >> 32), bits % 7 == 0 ? 1 : 0};
  }
};

/// A sum modulo 2^64, for collectives that require a commutative operator.
struct WrappingSum : collective::Sum<std::uint64_t> {
  using Value = std::uint64_t;

  [[nodiscard]] KOKKOS_FUNCTION static Value sample(std::uint64_t bits) { return bits; }
};

/// Compares all bytes, so that NaN equals itself and -0 differs from 0.
template <class T>
[[nodiscard]] bool same(T const& a, T const& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Returns a text about the first difference, or nothing if there is none.
template <class T>
[[nodiscard]] std::optional<std::string> difference(std::vector<T> const& found, std::vector<T> const& expected) {
  if (found.size() != expected.size()) {
    return std::to_string(found.size()) + " values instead of " + std::to_string(expected.size());
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!same(found[i], expected[i])) return "wrong at " + std::to_string(i) + " of " + std::to_string(found.size());
  }
  return std::nullopt;
}

/// Returns n values for an operator; each seed gives other values.
template <class Op>
[[nodiscard]] std::vector<typename Op::Value> samples(std::size_t n, std::uint64_t seed) {
  std::vector<typename Op::Value> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = Op::sample(random_bits((seed << 24) + i));
  return values;
}

/// Combines all values from left to right.
template <class T, class Op>
[[nodiscard]] T serial_reduce(std::vector<T> const& values, Op const& op) {
  T result = op.identity();
  for (T const& value : values) result = op(result, value);
  return result;
}

/// Element i combines values 0 to i.
template <class T, class Op>
[[nodiscard]] std::vector<T> serial_inclusive(std::vector<T> const& values, Op const& op) {
  std::vector<T> result;
  T running = op.identity();
  for (T const& value : values) result.push_back(running = op(running, value));
  return result;
}

/// Element i combines values 0 to i - 1.
template <class T, class Op>
[[nodiscard]] std::vector<T> serial_exclusive(std::vector<T> const& values, Op const& op) {
  std::vector<T> result;
  T running = op.identity();
  for (T const& value : values) {
    result.push_back(running);
    running = op(running, value);
  }
  return result;
}

/// Fills memory with 0xa5..., or with another byte pattern for each seed, which no computation would leave there.
template <class T>
void poison(std::vector<T>& values, std::uint64_t seed) {
  if (!values.empty()) std::memset(values.data(), 0xa5 + static_cast<int>(seed % 7), values.size() * sizeof(T));
}

}  // namespace tessera::test
