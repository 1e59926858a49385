// Wrong attention.

#include "broken_rows.hpp"

#include <type_traits>

#include "../../apps/attention/problem.hpp"

namespace tessera::attention {
namespace {

enum class Mistake { none, no_rescaling, no_scale, padded_keys, per_piece, last_key };

// One query after the other, with a running maximum.
template <class T, Mistake mistake>
struct OneQuery {
  T const* q;
  T const* k;
  T const* v;
  T* out;
  int keys;
  int dim;
  T scale;

  KOKKOS_FUNCTION void operator()(int b) const {
    T const none = -Kokkos::reduction_identity<T>::min();  // the lowest
    int const pieces = mistake == Mistake::per_piece ? 2 : 1;
    for (int c = 0; c < dim; ++c) out[b * dim + c] = 0;
    for (int piece = 0; piece < pieces; ++piece) {
      T largest = none;
      T total = 0;
      int const begin = piece * keys / pieces;
      int const end = (piece + 1) * keys / pieces - (mistake == Mistake::last_key ? 1 : 0);
      int const padded = mistake == Mistake::padded_keys ? (end + 7) / 8 * 8 : end;
      for (int j = begin; j < padded; ++j) {
        T score = 0;
        if (j < end) {
          for (int c = 0; c < dim; ++c) score += q[b * dim + c] * k[j * dim + c];
          if (mistake != Mistake::no_scale) score *= scale;
        }
        T const raised = score > largest ? score : largest;
        T const factor = largest == none || mistake == Mistake::no_rescaling ? T(1) : Kokkos::exp(largest - raised);
        largest = raised;
        T const weight = Kokkos::exp(score - largest);
        total = total * factor + weight;
        if (piece == 0) {
          for (int c = 0; c < dim; ++c) {
            out[b * dim + c] = out[b * dim + c] * factor + (j < end ? weight * v[j * dim + c] : T(0));
          }
        } else {
          // The second piece is normalised by itself, and the two are averaged.
          for (int c = 0; c < dim; ++c) out[b * dim + c] += j < end ? weight * v[j * dim + c] / 2 : T(0);
        }
      }
      for (int c = 0; c < dim; ++c) out[b * dim + c] /= piece == 0 ? total * T(pieces) : T(1);
    }
  }
};

template <Mistake mistake>
struct Broken {
  static constexpr VariantInfo info{.name = "broken", .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  struct Plan {
    Plan(Exec const&, InputOn<Attention, Exec, T> const&) {}
    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& in,
                    OutputOn<Attention, Exec, T> const& out) const {
      Kokkos::parallel_for(
          "tessera::tests::broken_attention", Kokkos::RangePolicy<Exec>(exec, 0, static_cast<int>(in.q.extent(0))),
          OneQuery<T, mistake>{in.q.data(), in.k.data(), in.v.data(), out.out.data(), static_cast<int>(in.k.extent(0)),
                               static_cast<int>(in.q.extent(1)), static_cast<T>(in.parameters.scale)});
    }
  };
};

ParameterMap const small{{"dim", std::int64_t{5}}, {"queries", std::int64_t{3}}, {"scale", 0.7}};
constexpr std::size_t size = 5 * 53;

// That the kernel is right where nothing is wrong with it: else the tests below say nothing.
TEST(BrokenAttention, IsRightWithoutAMistake) {
  App const app = make_app<Attention>({rows<Attention, Broken<Mistake::none>>()});
  for (Row const& row : app.rows) {
    auto const problem_case = app.generate(row.dtype, size, 1, testing::with_defaults(app, small));
    EXPECT_EQ(testing::run_row(row, *problem_case, problem_case->reference(), 2), "");
  }
}
TEST(BrokenAttention, NoRescaling) {
  testing::expect_caught<Attention, Broken<Mistake::no_rescaling>>(size, small, "out");
}
TEST(BrokenAttention, NoScale) { testing::expect_caught<Attention, Broken<Mistake::no_scale>>(size, small, "out"); }
TEST(BrokenAttention, PaddedKeys) {
  testing::expect_caught<Attention, Broken<Mistake::padded_keys>>(size, small, "out");
}
TEST(BrokenAttention, PerPiece) { testing::expect_caught<Attention, Broken<Mistake::per_piece>>(size, small, "out"); }
TEST(BrokenAttention, LastKey) { testing::expect_caught<Attention, Broken<Mistake::last_key>>(size, small, "out"); }

}  // namespace
}  // namespace tessera::attention
