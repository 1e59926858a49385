/// \file
/// Flags, a scan, a segmented reduction: the first launch scans the heads and stores where each run begins, the second
/// one folds run after run, a team each. A short run leaves most of a team idle, but a long one keeps it busy.

#include "../fold_of_team.hpp"
#include "../problem.hpp"

#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::reduce_by_key {

struct TwoPass {
  static constexpr VariantInfo info{.name = "two_pass",
                                    .level = Level::team,
                                    .summary = "a scan stores where runs begin, then a team folds each",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    using Teams = Kokkos::TeamPolicy<Exec>;
    Mode mode;
    int threads;
    Kokkos::View<std::int64_t*, typename Exec::memory_space> begins;  // of each run, then n

    Plan(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& input)
        : mode(with_lengths(input.parameters.mode, input.keys.extent(0))),
          threads(kernels::team_size(exec, input.parameters.team)),
          begins(unset("tessera::reduce_by_key::two_pass::begins"), input.keys.extent(0) + 1) {}

    void operator()(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& in,
                    OutputOn<ReduceByKey, Exec, T> const& out) const {
      auto const first = begins;
      std::size_t const n = in.keys.extent(0);
      Kokkos::deep_copy(exec, out.count, 0);
      auto const find = KOKKOS_LAMBDA(std::size_t i, std::int64_t& run, bool final) {
        bool const head = is_head(in.keys, i);
        if (head && final) out.unique_keys(run) = in.keys(i);
        if (head && final) first(run) = static_cast<std::int64_t>(i);
        run += head ? 1 : 0;
        if (final && i + 1 == n) first(run) = static_cast<std::int64_t>(n);
        if (final && i + 1 == n) out.count() = run;
      };
      Kokkos::parallel_scan("tessera::reduce_by_key::two_pass::find", over(exec, n), find);
      if (mode == Mode::unique) return;
      bool const reduces = mode == Mode::reduce;
      using Value = ValueOf<T>;
      collective::AnyOperator<Value> const op{in.parameters.op};
      auto const fold = KOKKOS_LAMBDA(typename Teams::member_type const& team) {
        for (std::int64_t run = team.league_rank(); run < out.count(); run += team.league_size()) {
          Value result = op.identity();
          auto const elements = Kokkos::TeamThreadRange(team, first(run), first(run + 1));
          auto const add = [&](std::int64_t i, Value& of_thread) { of_thread = op(of_thread, in.values(i)); };
          if (reduces) Kokkos::parallel_reduce(elements, add, FoldOfTeam<Value>{op, &result});
          Kokkos::single(Kokkos::PerTeam(team), [&] {
            if (reduces) out.sums(run) = result;
            if (!reduces) out.lengths(run) = static_cast<std::int32_t>(first(run + 1) - first(run));
          });
        }
      };
      Teams const teams(exec, static_cast<int>(kernels::teams_that_fill(exec, threads)), threads);
      Kokkos::parallel_for("tessera::reduce_by_key::two_pass::fold", teams, fold);
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return written_fields(mode); }
  };
};

VariantRows two_pass() { return rows<ReduceByKey, TwoPass>(); }

}  // namespace tessera::reduce_by_key
