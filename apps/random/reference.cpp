/// \file
/// The serial oracle of random: one element at a time, from the words of verify/random_words.hpp, and the mapping of
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

#include "drawn_numbers.hpp"
#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>
#include <tessera/verify/random_words.hpp>

namespace tessera::random {

namespace {

class Oracle {
 public:
  explicit Oracle(Parameters const& parameters)
      : of_(parameters), words_(parameters.generator == Generator::philox, parameters.seed, parameters.stream) {}

  [[nodiscard]] std::uint32_t bits32(std::uint64_t i, std::uint32_t number) const { return words_.bits32(i, number); }

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
    return std::is_same_v<T, double> ? words_.bits64(i, 0) / 2048 : bits32(i, 0) / 256;
  }

 private:
  Parameters const& of_;
  verify::RandomWords words_;
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
  std::vector<ExpectedField> fields;
  if (rows.size() == 0) {
    fields = list_of(elements<T>(parameters, rows));
  } else {
    fields = joined_reference({{"out", dtype_of<T>, {rows.size()}, nullptr}}, part_elements(), [&](ranks::Block some) {
      return list_of(elements<T>(parameters, {rows.begin + some.begin, rows.begin + some.end}));
    });
  }
  fields.front().of_own_values = [parameters](HostField const& out) {
    return DrawnNumbers<T>(parameters, static_cast<T const*>(out.data.get()), out.count()).judge();
  };
  return fields;
}

}  // namespace

template <class T>
std::vector<ExpectedField> Random::reference(Input<T, Kokkos::HostSpace> const& input) {
  return rows_of<T>(input.parameters, {0, input.parameters.count});
}

template <class T>
std::vector<ExpectedField> Random::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                     ranks::Part const& part) {
  return rows_of<T>(input.parameters, part.ranks.block(input.parameters.count));
}

}  // namespace tessera::random

template struct tessera::References<tessera::random::Random>;
