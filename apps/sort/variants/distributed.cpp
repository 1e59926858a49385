/// \file
/// On several ranks, a sample sort: each rank sorts its block (kernels/sort.hpp), samples tell where the sorted blocks
/// must be cut (cuts_on_ranks.hpp), an all-to-all gives each rank the keys of its places, one run from each rank, and
/// log(ranks) passes merge them. The cuts are exact, so that every rank ends with its own block, whatever the keys are.
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

#include <tessera/collective/merge_path.hpp>
#include <tessera/core/tiles.hpp>
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
          begins_("tessera::sort::distributed::begins", static_cast<std::size_t>(ranks_.count()) + 1),
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

    /// Merges pairs of neighbouring runs, each of `length` ranks' pieces. Each thread makes a chunk of the result,
    /// which a search on the merge path finds in both runs. Public because CUDA allows no device lambda in a private
    /// function.
    void merge(Exec const& exec, std::size_t length, Out const& from, Out const& to) const {
      auto const order = order_;
      auto const begins = begins_;
      std::size_t const n = from.keys.extent(0);
      std::size_t const count = pieces();
      bool const with_values = from.values.extent(0) > 0;
      bool const with_others = from.other_values.extent(0) > 0;
      Kokkos::parallel_for(
          "tessera::sort::distributed::merge", over(exec, tiles_of(n, chunk)), KOKKOS_LAMBDA(std::size_t c) {
            auto const begin_of = [&](std::size_t run) { return begins(Kokkos::min(run * length, count)); };
            auto const before = [&](std::size_t i, std::size_t j) { return order.before(from.keys(i), from.keys(j)); };
            std::size_t const end = Kokkos::min((c + 1) * chunk, n);
            std::size_t run = 0;  // the first one of a pair
            for (std::size_t i = c * chunk; i < end;) {
              while (begin_of(run + 2) <= i) run += 2;
              std::size_t const first = begin_of(run);
              std::size_t const second = begin_of(run + 1);
              std::size_t const stop = Kokkos::min(end, begin_of(run + 2));
              collective::merge_items([&](std::size_t a) { return first + a; }, second - first,
                                      [&](std::size_t b) { return second + b; }, begin_of(run + 2) - second, i - first,
                                      stop - first, before,
                                      [&](std::size_t k, std::size_t place) {
                                        to.keys(first + k) = from.keys(place);
                                        if (with_values) to.values(first + k) = from.values(place);
                                        if (with_others) to.other_values(first + k) = from.other_values(place);
                                      });
              i = stop;
            }
          });
    }

   private:
    // Keys that a thread merges: neighbouring lanes read near places; a host's core takes long.
    static constexpr std::size_t chunk = is_gpu<Exec> ? 16 : 4096;

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

    // Sends each rank the keys of its places, and writes one piece from each rank, in the order of the ranks.
    void exchange(Exec const& exec, Out const& from, Out const& to) {
      sent_.clear();
      received_.clear();
      begins_(0) = 0;
      for (int rank = 0; rank < ranks_.count(); ++rank) {
        auto const r = static_cast<std::size_t>(rank);
        begins_(r + 1) = begins_(r) + cuts_.given(rank, ranks_.rank()).size();
      }
      auto const move = [&](auto* given, auto* got) {
        for (int rank = 0; rank < ranks_.count(); ++rank) {
          ranks::Block const part = cuts_.given(ranks_.rank(), rank);
          std::size_t const begin = begins_(static_cast<std::size_t>(rank));
          std::size_t const size = begins_(static_cast<std::size_t>(rank) + 1) - begin;
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
    Kokkos::View<std::size_t*, Kokkos::SharedHostPinnedSpace> begins_;  // of the ranks' pieces
    ranks::Bulk<Exec> bulk_;
    std::vector<ranks::Message> sent_;
    std::vector<ranks::Message> received_;
  };
};

VariantRows distributed() { return rows<Sort, Distributed>(); }

}  // namespace tessera::sort
