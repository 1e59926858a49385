/// \file
/// One team per query, any number of keys: the baseline for fixed_length. The kernel is query_team.hpp.

#include <string>

#include "../problem.hpp"
#include "../query_team.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::attention {

struct AnyLength {
  static constexpr VariantInfo info{.name = "any_length",
                                    .level = Level::team,
                                    .summary = "one team per query, scores in its scratch, extents known at run time"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& in)
        : threads_(threads_of_query<Exec, T>(exec, in)), keys_(static_cast<double>(in.k.extent(0))) {
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
      attend_by_teams("tessera::attention::any_length::mean", exec, threads_, Matrix(in.q.data(), queries, dim),
                      Matrix(in.k.data(), keys, dim), Matrix(in.v.data(), keys, dim),
                      MatrixOf<T**, Exec>(to.out.data(), queries, dim), static_cast<T>(in.parameters.scale));
    }

    /// Two chains over all keys: the sum of weights and the sum of weighted values.
    [[nodiscard]] double rounding_steps() const { return 2 * keys_ + 8; }

   private:
    int threads_;
    double keys_;
  };
};

VariantRows any_length() { return rows<Attention, AnyLength>(); }

}  // namespace tessera::attention
