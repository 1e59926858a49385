/// \file
/// One team per query, any number of keys: the baseline for fixed_length. The kernel is query_team.hpp.

#include <string>

#include "../query_team.hpp"

namespace tessera::attention {

struct AnyLength {
  static constexpr VariantInfo info{.name = "any_length",
                                    .level = Level::team,
                                    .summary = "one team per query, scores in its scratch, extents known at run time"};

  template <ExecutionSpace Exec, std::floating_point T>
  struct Plan : QueryTeamPlan<Exec, T> {
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& in) : Plan::QueryTeamPlan(exec, in) {
      auto const most = static_cast<std::size_t>(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
      std::size_t const places = most < 512 ? 0 : (most - 512) / sizeof(T);  // 512 bytes are left for a reduction
      if (in.k.extent(0) > places) {
        throw Skip(std::to_string(in.k.extent(0)) + " keys (a team's scratch holds the scores of " +
                   std::to_string(places) + ")");
      }
    }

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& in,
                    OutputOn<Attention, Exec, T> const& to) const {
      if (in.k.extent(0) == 0) return Kokkos::deep_copy(exec, to.out, T(0));
      std::size_t const queries = in.q.extent(0);
      std::size_t const keys = in.k.extent(0);
      std::size_t const dim = in.k.extent(1);
      using Matrix = MatrixOf<T const**, Exec>;
      this->attend("tessera::attention::any_length::mean", exec, Matrix(in.q.data(), queries, dim),
                   Matrix(in.k.data(), keys, dim), Matrix(in.v.data(), keys, dim),
                   MatrixOf<T**, Exec>(to.out.data(), queries, dim), in.parameters.scale);
    }
  };
};

VariantRows any_length() { return rows<Attention, AnyLength>(); }

}  // namespace tessera::attention
