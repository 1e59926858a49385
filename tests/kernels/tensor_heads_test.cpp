// The kernel of TensorHeads on emulated matrix units, under teams that run their threads in the worst order: hosts have
// no units, so its launches run only on GPUs.

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "emulated_copies.hpp"
#include "guarded_array.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/tensor_heads.hpp>

namespace tessera::test {
namespace {

using kernels::Heads;
using kernels::detail::Attentions;
using kernels::detail::BlockPack;
using kernels::detail::RowsOfFloats;
using kernels::detail::ScoreFactor;

constexpr double scale = 0.25;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

// What the kernel is given wrong.
enum class Given { right, not_causal, other_tokens, values_as_they_are };

using Fields = std::array<std::vector<float>, 3>;  // q, k, v

// Numbers from -2 to 2 with so many bits behind the point. With 5 or fewer, bfloat16 represents all of them.
Fields fields_of(Heads const& heads, int bits = 22) {
  Fields fields;
  for (std::size_t f = 0; f < 3; ++f) {
    for (std::size_t i = 0; i < heads.rows() * heads.cols(); ++i) {
      auto const whole = static_cast<double>(tessera::random_bits(3, f, i) >> (62 - bits));
      fields[f].push_back(static_cast<float>(std::ldexp(whole, -bits) - 2));
    }
  }
  return fields;
}

// Returns the kernel's results. An element that was not written is NaN.
template <class Tile>
std::vector<float> results_of(Heads const& heads, Fields const& fields, Order order, Given given = Given::right) {
  std::size_t const n = heads.rows() * heads.cols();
  std::size_t const teams = tiles_of(heads.tokens, Tile::queries);
  std::size_t const query_packs = tiles_of(heads.tokens, Tile::edge) * Tile::packs_of_strip;
  Attentions all{.heads = heads.heads,
                 .count = heads.sequences * heads.heads,
                 .tokens = heads.tokens,
                 .causal = heads.causal && given != Given::not_causal};
  all.set_packs(query_packs + tiles_of(heads.tokens, Tile::keys) * Tile::packs_of_tile);
  GuardedArray<BlockPack> packs(all.count * all.packs);
  BlockPack* const packed = packs.last(all.count * all.packs);
  auto const [sign, factor, slack] = ScoreFactor::of<Tile>(scale);
  auto const rows = [&](std::vector<float> const& field) {
    return RowsOfFloats{field.data(), heads.tokens, heads.dim};
  };
  Attentions of_packs = all;
  if (given == Given::other_tokens) --of_packs.tokens;
  if (given == Given::values_as_they_are) of_packs.causal = false;
  kernels::detail::PackAttention<Tile, Attentions> const pack{rows(fields[0]), rows(fields[1]), rows(fields[2]), sign,
                                                              query_packs,     packed,          of_packs};
  for (std::size_t i = 0; i < all.count * all.packs; ++i) pack(i);

  GuardedArray<float> guarded(n);
  float* const out = guarded.last(n);
  std::fill_n(out, n, nan);
  using Kernel = kernels::detail::AttendTiles<AdversarialSpace, lane::Emulated<32>, Tile,
                                              EmulatedCopies<Arrival::at_wait>, Attentions>;
  Kernel const kernel{
      packed, packed + query_packs, out, heads.tokens, heads.tokens, static_cast<int>(heads.dim), factor,
      slack,  heads.dim % 4 == 0,   all};
  run_league(kernel, static_cast<int>(teams * all.count), Tile::threads, order);
  EXPECT_TRUE(guarded.untouched());
  return {out, out + n};
}

// Returns the largest error of an element whose sequence, head and token are `wanted`, relative to the largest value.
// NaN if one of them is NaN.
template <class Wanted>
double error_of(Heads const& heads, Fields const& fields, std::vector<float> const& out, Wanted const& wanted) {
  auto const& [q, k, v] = fields;
  double worst = 0;
  std::vector<double> weight(heads.tokens);
  for (std::size_t s = 0; s < heads.sequences; ++s) {
    for (std::size_t h = 0; h < heads.heads; ++h) {
      auto const at = [&](std::size_t token) { return (s * heads.tokens + token) * heads.cols() + h * heads.dim; };
      for (std::size_t i = 0; i < heads.tokens; ++i) {
        if (!wanted(s, h, i)) continue;
        std::size_t const end = heads.causal ? i + 1 : heads.tokens;
        double total = 0;
        for (std::size_t j = 0; j < end; ++j) {
          double score = 0;
          for (std::size_t c = 0; c < heads.dim; ++c) score += static_cast<double>(q[at(i) + c]) * k[at(j) + c];
          total += weight[j] = std::exp(scale * score);
        }
        for (std::size_t c = 0; c < heads.dim; ++c) {
          double mean = 0;
          for (std::size_t j = 0; j < end; ++j) mean += weight[j] / total * v[at(j) + c];
          double const error = std::abs(out[at(i) + c] - mean) / 2;
          if (!std::isnan(worst) && !(error <= worst)) worst = error;
        }
      }
    }
  }
  return worst;
}
template <class Tile>
double error_of(Heads const& heads, Order order, Given given = Given::right, int bits = 22) {
  Fields const fields = fields_of(heads, bits);
  return error_of(heads, fields, results_of<Tile>(heads, fields, order, given),
                  [](std::size_t, std::size_t, std::size_t) { return true; });
}

// Several sequences and heads, tokens that fill no tile, heads that fill no block.
Heads const some[] = {{.sequences = 2, .tokens = 70, .heads = 3, .dim = 20, .causal = true},
                      {.sequences = 2, .tokens = 70, .heads = 3, .dim = 20, .causal = false},
                      {.sequences = 1, .tokens = 1, .heads = 2, .dim = 5, .causal = true},
                      {.sequences = 1, .tokens = 200, .heads = 1, .dim = 32, .causal = true}};
// One bfloat16 number per factor: scores of 32 columns are off by up to 0.03.
constexpr double of_one_term = 0.04;
// If bfloat16 represents the data, only weights are rounded. Their errors, 2^-9 at most, move a mean by 2^-9 of its
// largest distance from a value, 4.
constexpr double of_exact_data = 0x1p-8;
constexpr int exact = 5;  // bits behind the point
using OneTerm = kernels::TensorAttentionTile<32, 2, 2, 2, 2, 3>;
using ThreeTerms = kernels::TensorAttentionTile<32, 2, 2, 1, 1, 3, 3, 2>;

TEST(TensorHeads, OneTerm) {
  for (Heads const& heads : some) {
    for (Order const order : all_orders) {
      EXPECT_LT((error_of<OneTerm>(heads, order)), of_one_term);
      EXPECT_LT((error_of<OneTerm>(heads, order, Given::right, exact)), of_exact_data);
    }
  }
}
// Float accuracy: a key that is seen too early, or missed, changes some element by far more.
TEST(TensorHeads, ThreeTerms) {
  for (Heads const& heads : some) EXPECT_LT((error_of<ThreeTerms>(heads, Order::ascending)), 1e-5);
}
// The tiles that a GPU gets, for two teams of queries and more tiles of keys than stages.
TEST(TensorHeads, TilesOfGpus) {
  for (std::size_t const dim : {64, 128}) {
    for (bool const few : {true, false}) {
      if (few && dim == 128) continue;  // the same tile, or half of it
      kernels::TensorAttentionTuning<Kokkos::DefaultHostExecutionSpace, 1>::choose(dim, few, [&]<class Tile>() {
        for (bool const causal : {true, false}) {
          Heads const heads{.sequences = 2, .tokens = 150, .heads = 2, .dim = dim, .causal = causal};
          EXPECT_LT((error_of<Tile>(heads, Order::descending, Given::right, exact)), of_exact_data) << dim;
        }
      });
      kernels::TensorAttentionTuning<Kokkos::DefaultHostExecutionSpace, 3>::choose(dim, few, [&]<class Tile>() {
        Heads const heads{.sequences = 1, .tokens = 150, .heads = 2, .dim = dim, .causal = true};
        EXPECT_LT((error_of<Tile>(heads, Order::descending)), 1e-5) << dim;
      });
    }
  }
}

// Returns the error of all results that an element of q, k or v that is not finite must not reach. Others must not be
// finite if it is NaN, or an infinity in v.
template <class Tile>
double error_beside(Heads const& heads, std::size_t field, float poison, Given given = Given::right) {
  constexpr std::size_t of_sequence = 0;
  constexpr std::size_t of_head = 1;
  std::size_t const token = heads.tokens / 2;
  Fields const clean = fields_of(heads);
  Fields fields = clean;
  std::size_t const place = (of_sequence * heads.tokens + token) * heads.cols() + of_head * heads.dim + heads.dim / 3;
  fields[field][place] = poison;
  std::vector<float> const out = results_of<Tile>(heads, fields, Order::ascending, given);
  auto const is_reached = [&](std::size_t s, std::size_t h, std::size_t i) {
    if (s != of_sequence || h != of_head) return false;
    return field == 0 ? i == token : !heads.causal || i >= token;
  };
  for (std::size_t i = 0; (std::isnan(poison) || field == 2) && i < heads.tokens; ++i) {
    if (!is_reached(of_sequence, of_head, i)) continue;
    EXPECT_FALSE(std::isfinite(out[place + i * heads.cols() - token * heads.cols()])) << i;
  }
  return error_of(heads, clean, out, [&](std::size_t s, std::size_t h, std::size_t i) { return !is_reached(s, h, i); });
}
TEST(TensorHeads, ElementsThatAreNotFiniteReachOnlyWhoSeesThem) {
  for (Heads const& heads : {some[0], some[1]}) {
    for (std::size_t field = 0; field < 3; ++field) {
      for (float const poison : {nan, infinity, -infinity, -0x1.FFp127F}) {  // the last becomes infinite in bfloat16
        EXPECT_LT((error_beside<OneTerm>(heads, field, poison)), of_one_term) << field << " " << poison;
        EXPECT_LT((error_beside<ThreeTerms>(heads, field, poison)), 1e-5) << field << " " << poison;
      }
    }
  }
}

TEST(BrokenTensorHeads, SeesLaterKeys) {
  EXPECT_FALSE((error_of<OneTerm>(some[0], Order::ascending, Given::not_causal) < of_one_term));
}
TEST(BrokenTensorHeads, TakesOtherSequences) {
  EXPECT_FALSE((error_of<OneTerm>(some[0], Order::ascending, Given::other_tokens) < of_one_term));
}
TEST(BrokenTensorHeads, LaterValuesReachEarlierTokens) {
  EXPECT_FALSE((error_beside<OneTerm>(some[0], 2, nan, Given::values_as_they_are) < of_one_term));
  EXPECT_FALSE((error_beside<OneTerm>(some[0], 2, infinity, Given::values_as_they_are) < of_one_term));
}

}  // namespace
}  // namespace tessera::test
