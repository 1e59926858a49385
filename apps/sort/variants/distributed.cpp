/// \file
/// On several ranks, a sample sort: each rank sorts its block (kernels/sort.hpp), samples tell where the sorted blocks
/// must be cut (cuts_on_ranks.hpp), an all-to-all gives each rank the keys of its places, one run from each rank, and
/// log(ranks) passes merge them (kernels/detail/sort/merge_runs.hpp). The cuts are exact, so that every rank ends with
/// its own block, whatever the keys are.
///
/// Traffic: a local sort, n elements to other ranks, and 2n per merge pass. Memory: a local sort and one more block.
///
/// Example, 2 ranks: 3 1 4 | 1 5 2 -> 1 3 4 | 1 2 5. The first rank keeps one key and gets two, 1, 1 2 -> 1 1 2; the
/// second gets two and keeps one, 3 4, 5 -> 3 4 5.

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../cuts_on_ranks.hpp"
#include "../digit_sort_plan.hpp"
#include "../problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/sort/merge_runs.hpp>
#include <tessera/kernels/merge_sort.hpp>
#include <tessera/kernels/sort.hpp>
#include <tessera/ranks/bulk.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::sort {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "sample sort: each rank sorts, exact cuts, an all-to-all, merges"};

  // The faster kernel for each kind of device.
  template <ExecutionSpace Exec, class T, class Value = kernels::NoValue>
  using DigitSort =
      std::conditional_t<is_gpu<Exec>, kernels::OnesweepSort<Exec, T, Value>, kernels::RadixSort<Exec, T, Value>>;

  // On one H100 a pass over 2^28 floats takes 1.49 ms, and 1.76 ms with the chunks of a merge sort, which also sorts
  // them in registers; 2^27 doubles take 0.98 and 1.28 ms.
  template <ExecutionSpace Exec>
  struct MergeTuning : kernels::MergeSortTuning<Exec> {
    using Base = kernels::MergeSortTuning<Exec>;
    static constexpr int chunk = is_gpu<Exec> ? 9 : Base::chunk;
    static constexpr std::size_t most_scratch = is_gpu<Exec> ? 36864 : Base::most_scratch;
    static constexpr int in_flight = is_gpu<Exec> ? chunk : 1;
  };

  template <ExecutionSpace Exec, class T>
  class Plan {
    using Out = OutputOn<Sort, Exec, T>;

   public:
    Plan(Exec const& exec, InputOn<Sort, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          order_(input.parameters.template order<T>()),
          sort_(exec, input),
          cuts_(part.ranks, part.input[0][0], "tessera::sort::distributed"),
          other_{spare<decltype(Out::keys)>("keys", input.keys.extent(0)),
                 spare<decltype(Out::values)>("values", input.values.extent(0)),
                 spare<decltype(Out::other_values)>("other_values", input.other_values.extent(0))},
          shape_(shape(exec)),
          splits_(unset("tessera::sort::distributed::splits"),
                  tiles_of(other_.keys.extent(0), static_cast<std::size_t>(shape_.tile))),
          given_begins_("tessera::sort::distributed::given_begins", pieces() + 1),
          begins_(unset("tessera::sort::distributed::begins"), pieces() + 1),
          bulk_(exec, ranks_, "tessera::sort::distributed", most()) {
      for (auto* const messages : {&sent_, &received_}) messages->reserve(most().messages);
    }

    void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& in, Out const& out) {
      if (alone()) return sort_(exec, in, out);
      Out from = other_;
      Out to = out;
      for (std::size_t run = 1; run < pieces(); run *= 2) std::swap(from, to);  // the last pass writes the result
      sort_(exec, in, from);
      cuts_.find(exec, order_, from.keys);
      exchange(exec, from, to);
      for (std::size_t run = 1; run < pieces(); run *= 2) {
        std::swap(from, to);
        merge(exec, run, from, to);
      }
    }

    [[nodiscard]] std::string note() const { return sort_.note(); }

   private:
    using Tuning = MergeTuning<Exec>;

    [[nodiscard]] bool alone() const { return ranks_.count() == 1; }
    [[nodiscard]] std::size_t pieces() const { return static_cast<std::size_t>(ranks_.count()); }
    template <class Field>
    [[nodiscard]] Field spare(std::string const& name, std::size_t n) const {
      return Field(unset("tessera::sort::distributed::" + name), alone() ? 0 : n);
    }
    [[nodiscard]] ranks::MostOfBulk most() const {
      std::size_t const bytes = other_.keys.extent(0) * sizeof(T) + other_.values.extent(0) * sizeof(ValueOf<T>) +
                                other_.other_values.extent(0) * sizeof(OtherValueOf<T>);
      return {.messages = 2 * pieces(), .sent = bytes, .received = bytes};
    }

    [[nodiscard]] kernels::detail::MergeShape shape(Exec const& exec) const {
      // A tile that is merged from memory may be long: its searches and the start of a team then cost little.
      if constexpr (!Tuning::in_scratch) return {.tile = 1 << 14, .threads = 1};
      bool const with_values = other_.values.extent(0) + other_.other_values.extent(0) > 0;
      return kernels::detail::MergeShape::choose<Tuning>(
          exec, with_values ? sizeof(kernels::detail::SortItem<T, true>) : sizeof(T));
    }

    // Merges pairs of neighbouring runs, each of `length` ranks' pieces.
    void merge(Exec const& exec, std::size_t length, Out const& from, Out const& to) const {
      using Runs = kernels::detail::RunsOfPieces;
      Runs const runs{begins_.data(), length, pieces()};
      auto const pass = [&]<bool with_values, class V>(V const* values_from, V* values_to) {
        kernels::detail::MergeRunsKernel<Exec, T, V, with_values, Runs, Tuning>{
            order_,    from.keys.data(), values_from,         to.keys.data(),
            values_to, splits_.data(),   from.keys.extent(0), shape_.tile,
            runs}
            .enqueue(exec, "tessera::sort::distributed", shape_.threads);
      };
      if (from.values.extent(0) > 0) {
        pass.template operator()<true>(from.values.data(), to.values.data());
      } else if (from.other_values.extent(0) > 0) {
        pass.template operator()<true>(from.other_values.data(), to.other_values.data());
      } else {
        pass.template operator()<false>(from.values.data(), to.values.data());
      }
    }

    // Sends each rank the keys of its places, and writes one piece from each rank, in the order of the ranks.
    void exchange(Exec const& exec, Out const& from, Out const& to) {
      sent_.clear();
      received_.clear();
      given_begins_(0) = 0;
      for (int rank = 0; rank < ranks_.count(); ++rank) {
        auto const r = static_cast<std::size_t>(rank);
        given_begins_(r + 1) = given_begins_(r) + cuts_.given(rank, ranks_.rank()).size();
      }
      Kokkos::deep_copy(exec, begins_, given_begins_);
      auto const move = [&](auto* given, auto* got) {
        for (int rank = 0; rank < ranks_.count(); ++rank) {
          ranks::Block const part = cuts_.given(ranks_.rank(), rank);
          std::size_t const begin = given_begins_(static_cast<std::size_t>(rank));
          std::size_t const size = given_begins_(static_cast<std::size_t>(rank) + 1) - begin;
          if (part.size() > 0) sent_.push_back({rank, given + part.begin, part.size() * sizeof(*given)});
          if (size > 0) received_.push_back({rank, got + begin, size * sizeof(*got)});
        }
      };
      move(from.keys.data(), to.keys.data());
      // A rank without keys has no values either, and sends and receives none.
      if (from.values.extent(0) > 0) move(from.values.data(), to.values.data());
      if (from.other_values.extent(0) > 0) move(from.other_values.data(), to.other_values.data());
      bulk_(exec, sent_, received_);
    }

    ranks::Ranks const& ranks_;
    collective::KeyOrder<T> order_;
    DigitSortPlan<Distributed, Exec, T, DigitSort> sort_;
    CutsOnRanks<Exec, T> cuts_;
    Out other_;
    kernels::detail::MergeShape shape_;
    Kokkos::View<std::size_t*, typename Exec::memory_space> splits_;
    // Where the ranks' pieces begin: each team reads it, so that it is copied to the device.
    Kokkos::View<std::size_t*, Kokkos::SharedHostPinnedSpace> given_begins_;
    Kokkos::View<std::size_t*, typename Exec::memory_space> begins_;
    ranks::Bulk<Exec> bulk_;
    std::vector<ranks::Message> sent_;
    std::vector<ranks::Message> received_;
  };
};

VariantRows distributed() { return rows<Sort, Distributed>(); }

}  // namespace tessera::sort
