/// \file
/// On several ranks: each rank reduces the runs of its block (kernels/reduce_by_key.hpp) and shows all others its first
/// and its last run. A run that crosses ranks belongs to the rank on which it begins, which adds what the next ranks
/// have of it. Then keys and results go to the ranks that own their places (ranks/runs_to_places.hpp). Traffic: as on
/// one rank, and twice the results.
///
/// Example, 3 ranks, sums: keys 1 1 2 | 2 2 | 2 3, values 1 2 3 | 4 5 | 6 7 -> 1: 3, 2: 3 | 2: 9 | 2: 6, 3: 7. The
/// first rank's last run gets 9 and 6, the others lose their first one -> 1: 3, 2: 18 | nothing | 3: 7.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../look_back_plan.hpp"

#include <tessera/ranks/part.hpp>
#include <tessera/ranks/runs_to_places.hpp>

namespace tessera::reduce_by_key {

/// The first and the last run of a rank's block, which may be the same one.
template <class K, class R>
struct EndRuns {
  std::int64_t count;  ///< runs of the block; 0: it has no elements
  K first_key;
  K last_key;
  R first;
  R last;
};

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank reduces its block, then runs that cross ranks are joined",
                                    .deterministic = false,
                                    .ordered_by = "arrival"};

  template <ExecutionSpace Exec, class T>
  class Plan {
    using Memory = typename Exec::memory_space;
    using Pinned = Kokkos::SharedHostPinnedSpace;
    using Value = ValueOf<T>;
    template <class R>
    using Results = Array<R*, Memory>;

   public:
    Plan(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          mode_(with_lengths(input.parameters.mode, part.input[0][0])),  // a run may lie on all ranks
          op_{input.parameters.op},
          own_(part.ranks.block(part.input[0][0])),
          pass_(exec, input),
          runs_{Results<T>(unset(label("::unique_keys")), room(true)),
                Results<Value>(unset(label("::sums")), room(mode_ == Mode::reduce)),
                Results<std::int32_t>(unset(label("::lengths")), room(mode_ == Mode::lengths)),
                Array<std::int64_t, Memory>(label("::count"))},
          keys_to_places_(exec, ranks_, part.input[0][0], room(true), label("")),
          sums_to_places_(exec, ranks_, part.input[0][0], room(mode_ == Mode::reduce), label("")),
          lengths_to_places_(exec, ranks_, part.input[0][0], room(mode_ == Mode::lengths), label("")),
          sum_ends_(ranks_),
          length_ends_(ranks_) {}

    void operator()(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& input,
                    OutputOn<ReduceByKey, Exec, T> const& output) {
      if (alone()) return pass_(exec, input, output);
      pass_(exec, input, runs_);
      if (mode_ == Mode::reduce) {
        deliver(exec, sum_ends_, runs_.sums, op_, sums_to_places_, output.sums, output);
      } else {
        collective::AnyOperator<std::int32_t> const add{};
        deliver(exec, length_ends_, runs_.lengths, add, lengths_to_places_, output.lengths, output);
      }
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const {
      std::vector<WrittenField> fields = written_fields(mode_);
      for (WrittenField& one : fields) {
        if (!one.count_field.empty()) one.first = own_.begin;
      }
      return fields;
    }
    [[nodiscard]] double rounding_steps() const { return pass_.rounding_steps() + ranks_.count(); }

    /// Copies the ends of this rank's runs to the host. Public because CUDA allows no device lambda in a private
    /// function.
    template <class R>
    void show(Exec const& exec, Results<R> const& results, Kokkos::View<EndRuns<T, R>, Pinned> const& ends) const {
      auto const keys = runs_.unique_keys;
      auto const count = runs_.count;
      Kokkos::parallel_for(
          "tessera::reduce_by_key::distributed::ends", over(exec, 1), KOKKOS_LAMBDA(std::size_t) {
            EndRuns<T, R> shown{count(), T(0), T(0), R(0), R(0)};
            if (shown.count > 0) {
              shown.first_key = keys(0);
              shown.last_key = keys(shown.count - 1);
            }
            if (shown.count > 0 && results.extent(0) > 0) {
              shown.first = results(0);
              shown.last = results(shown.count - 1);
            }
            ends() = shown;
          });
      exec.fence("tessera::reduce_by_key::distributed: ends of the runs");
    }

    /// Writes the result of this rank's last run.
    template <class R>
    void complete(Exec const& exec, Results<R> const& results, std::size_t last, R result) const {
      Kokkos::parallel_for(
          "tessera::reduce_by_key::distributed::last", over(exec, 1),
          KOKKOS_LAMBDA(std::size_t) { results(last) = result; });
    }

   private:
    template <class R>
    struct Ends {
      Kokkos::View<EndRuns<T, R>, Pinned> own{label("::ends")};
      std::vector<EndRuns<T, R>> of_ranks;
      explicit Ends(ranks::Ranks const& ranks) : of_ranks(static_cast<std::size_t>(ranks.count())) {}
    };

    [[nodiscard]] bool alone() const { return ranks_.count() == 1; }
    [[nodiscard]] std::size_t room(bool is_used) const { return is_used && !alone() ? own_.size() : 0; }

    // Joins the runs that cross ranks, and sends all to their places.
    template <class R, class Op>
    void deliver(Exec const& exec, Ends<R>& ends, Results<R> const& results, Op const& op,
                 ranks::RunsToPlaces<Exec, R, 1>& to_places, Results<R> const& sorted,
                 OutputOn<ReduceByKey, Exec, T> const& output) {
      show<R>(exec, results, ends.own);
      ranks_.all_gather(ends.own(), std::span(ends.of_ranks));
      auto const rank = static_cast<std::size_t>(ranks_.rank());
      EndRuns<T, R> const& own = ends.of_ranks[rank];
      auto count = static_cast<std::size_t>(own.count);
      if (count > 0) {
        R last = own.last;
        for (std::size_t next = rank + 1; next < ends.of_ranks.size(); ++next) {
          EndRuns<T, R> const& there = ends.of_ranks[next];
          if (there.count == 0) continue;
          if (there.first_key != own.last_key) break;
          last = op(last, there.first);
          if (there.count > 1) break;  // the run ends there
        }
        if (mode_ != Mode::unique) complete<R>(exec, results, count - 1, last);
      }
      // A rank's first run belongs to another rank if the last element before the block has its key.
      std::size_t before = rank;
      while (before > 0 && ends.of_ranks[before - 1].count == 0) --before;
      std::size_t const lost = count > 0 && before > 0 && ends.of_ranks[before - 1].last_key == own.first_key ? 1 : 0;
      count -= lost;
      keys_to_places_(exec, {count}, runs_.unique_keys.data() + lost, output.unique_keys.data());
      if (mode_ != Mode::unique) to_places(exec, {count}, results.data() + lost, sorted.data());
      Kokkos::deep_copy(exec, output.count, static_cast<std::int64_t>(keys_to_places_.length(0)));
    }

    [[nodiscard]] static std::string label(std::string const& step) {
      return "tessera::reduce_by_key::distributed" + step;
    }

    ranks::Ranks const& ranks_;
    Mode mode_;
    collective::AnyOperator<Value> op_;
    ranks::Block own_;
    LookBackPlan<Distributed, Exec, T> pass_;
    OutputOn<ReduceByKey, Exec, T> runs_;  // of this rank's block
    ranks::RunsToPlaces<Exec, T, 1> keys_to_places_;
    ranks::RunsToPlaces<Exec, Value, 1> sums_to_places_;
    ranks::RunsToPlaces<Exec, std::int32_t, 1> lengths_to_places_;
    Ends<Value> sum_ends_;
    Ends<std::int32_t> length_ends_;
  };
};

VariantRows distributed() { return rows<ReduceByKey, Distributed>(); }

}  // namespace tessera::reduce_by_key
