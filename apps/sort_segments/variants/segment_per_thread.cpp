/// \file
/// The plain Kokkos answer: one thread sorts one segment by merges of runs of 1, 2, 4, ... keys. Neighbouring threads
/// read far apart, and a long segment keeps one thread busy while all others wait.

#include "../pairs.hpp"

namespace tessera::sort_segments {

struct SegmentPerThread {
  static constexpr VariantInfo info{.name = "segment_per_thread",
                                    .level = Level::range,
                                    .summary = "one thread merges the runs of a segment, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    Pairs<Exec, T> spare;

    Plan(Exec const&, InputOn<SortSegments, Exec, T> const& input) : spare(spare_pairs<Exec, T>(input)) {}

    void operator()(Exec const& exec, InputOn<SortSegments, Exec, T> const& in,
                    OutputOn<SortSegments, Exec, T> const& out) const {
      collective::KeyOrder<T> const order(in.parameters.descending);
      Pairs<Exec, T> const result{out.keys, out.values};
      auto const other = spare;
      Kokkos::parallel_for(
          "tessera::sort_segments::segment_per_thread::sort", over(exec, in.offsets.extent(0) - 1),
          KOKKOS_LAMBDA(std::size_t r) {
            auto const begin = static_cast<std::size_t>(in.offsets(r));
            auto const end = static_cast<std::size_t>(in.offsets(r + 1));
            Pairs<Exec, T> from = result, to = other;
            for (std::size_t run = 1; run < end - begin; run *= 2) Kokkos::kokkos_swap(from, to);
            for (std::size_t i = begin; i < end; ++i) from.take(i, in, i);
            for (std::size_t run = 1; run < end - begin; run *= 2) {  // the last pass writes the result
              for (std::size_t pair = begin; pair < end; pair += 2 * run) {
                std::size_t const middle = Kokkos::min(pair + run, end);
                std::size_t const last = Kokkos::min(middle + run, end);
                std::size_t a = pair;
                std::size_t b = middle;
                for (std::size_t i = pair; i < last; ++i) {
                  bool const second = a == middle || (b < last && order.before(from.keys(b), from.keys(a)));
                  to.take(i, from, second ? b : a);
                  (second ? b : a) += 1;
                }
              }
              Kokkos::kokkos_swap(from, to);
            }
          });
    }
  };
};

VariantRows segment_per_thread() { return rows<SortSegments, SegmentPerThread>(); }

}  // namespace tessera::sort_segments
