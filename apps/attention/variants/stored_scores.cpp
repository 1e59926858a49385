/// \file
/// The plain Kokkos answer, straight from the formula: a loop over pairs of a query and a key makes the scores, then
/// one team per query makes its softmax and the mean of the values.

#include <cstdint>

#include "../scores.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::attention {

struct StoredScores {
  static constexpr VariantInfo info{.name = "stored_scores",
                                    .level = Level::team,
                                    .summary = "scores by a loop, one team for each query, the baseline"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    using Pairs = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>;
    using Teams = Kokkos::TeamPolicy<Exec>;

    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& in)
        : threads_(kernels::team_size(exec, in.parameters.team)),
          keys_(static_cast<double>(in.k.extent(0))),
          scores_(allocate_scores<Exec, T>(in)) {}

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& q, ArrayOn<T const**, Exec> const& k,
                    ArrayOn<T const**, Exec> const& v, ArrayOn<T**, Exec> const& out,
                    Attention::Parameters const& parameters) const {
      auto const score = scores_;
      T const scale = static_cast<T>(parameters.scale);
      if (k.extent(0) == 0) return Kokkos::deep_copy(exec, out, T(0));
      Kokkos::parallel_for(
          "tessera::attention::stored_scores::scores",
          Pairs(exec, {0, 0}, {std::int64_t(q.extent(0)), std::int64_t(k.extent(0))}),
          KOKKOS_LAMBDA(std::int64_t b, std::int64_t j) {
            T sum = 0;
            for (std::size_t c = 0; c < q.extent(1); ++c) sum += q(b, c) * k(j, c);
            score(b, j) = scale * sum;
          });
      Kokkos::parallel_for(
          "tessera::attention::stored_scores::mean", Teams(exec, league_of(q.extent(0)), threads_),
          KOKKOS_LAMBDA(typename Teams::member_type const& team) {
            int const b = team.league_rank();
            auto const keys = Kokkos::TeamThreadRange(team, k.extent(0));
            T max;
            Kokkos::parallel_reduce(
                keys,
                [&](std::size_t j, T& largest) {
                  if (score(b, j) > largest) largest = score(b, j);
                },
                Kokkos::Max<T>(max));
            T total;
            Kokkos::parallel_reduce(keys, [&](std::size_t j, T& sum) { sum += Kokkos::exp(score(b, j) - max); }, total);
            Kokkos::parallel_for(keys, [&](std::size_t j) { score(b, j) = Kokkos::exp(score(b, j) - max) / total; });
            team.team_barrier();  // all weights are stored
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, v.extent(1)), [&](std::size_t c) {
              T sum = 0;
              for (std::size_t j = 0; j < k.extent(0); ++j) sum += score(b, j) * v(j, c);
              out(b, c) = sum;
            });
          });
    }

    /// Two chains over all keys, each a product and then additions: the sums of weights and of weighted values.
    [[nodiscard]] double rounding_steps() const { return 2 * keys_ + 8; }

   private:
    int threads_;
    double keys_;
    Scores<Exec, T> scores_;
  };
};

VariantRows stored_scores() { return rows<Attention, StoredScores>(); }

}  // namespace tessera::attention
