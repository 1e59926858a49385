/// \file
/// The stream of --raw, for test suites of random numbers such as PractRand.

#include "problem.hpp"

#include <algorithm>
#include <array>

namespace tessera::random {

namespace {

template <class Words>
void write_words(Words const& words, Parameters const& of,
                 std::function<bool(unsigned char const*, std::size_t)> const& take) {
  std::array<unsigned char, std::size_t{1} << 16> bytes{};
  constexpr std::uint64_t words_of_piece = bytes.size() / 4;
  bool const endless = of.count == std::uint64_t{1} << 50;
  std::uint64_t first = of.offset;
  std::uint64_t left = of.count;
  while (endless || left > 0) {
    std::uint64_t const count = endless ? words_of_piece : std::min(left, words_of_piece);
    std::size_t filled = 0;
    // Four elements at a time. The first and the last counter may be incomplete.
    for (std::uint64_t b = first / 4; b <= (first + count - 1) / 4; ++b) {
      auto const four = words.template bits<std::uint32_t>(b, 0);
      for (std::uint64_t e = 0; e < 4; ++e) {
        if (4 * b + e < first || 4 * b + e >= first + count) continue;
        for (int byte = 0; byte < 4; ++byte) {
          bytes[filled++] = static_cast<unsigned char>(collective::one_of_four(four, e) >> (8 * byte));
        }
      }
    }
    if (!take(bytes.data(), filled)) return;
    first += count;
    left -= count;
  }
}

}  // namespace

void Random::raw_bytes(Parameters const& parameters,
                       std::function<bool(unsigned char const*, std::size_t)> const& take) {
  if (parameters.distribution != Distribution::bits && parameters.distribution != Distribution::uniform) {
    throw UserError("--raw writes the bits of words (a distribution has none); leave out --distribution");
  }
  if (parameters.generator == Generator::philox) {
    write_words(collective::RandomWords<collective::Philox4x32>(parameters.seed, parameters.stream), parameters, take);
  } else {
    write_words(collective::RandomWords<collective::Threefry4x64>(parameters.seed, parameters.stream), parameters,
                take);
  }
}

}  // namespace tessera::random
