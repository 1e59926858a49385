/// \file
/// std::sort of each segment's keys, the segments in parallel. It sorts in place: the timed call copies the keys first.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../../../apps/sort_segments/problem.hpp"
#include "../peers.hpp"
#include "../sort_of_keys.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using sort_segments::SortSegments;

struct Std {
  static constexpr VariantInfo info{
      .name = "std", .level = Level::library, .summary = "std::sort, one thread per segment"};

  template <ExecutionSpace Exec, class T>
    requires(!is_gpu<Exec>)
  struct Plan : SortOfKeys {
    Plan(Exec const&, InputOn<SortSegments, Exec, T> const& input) : SortOfKeys(input) {}

    void operator()(Exec const& exec, InputOn<SortSegments, Exec, T> const& input,
                    OutputOn<SortSegments, Exec, T> const& output) const {
      T const* const from = input.keys.data();
      T* const keys = output.keys.data();
      std::int64_t const* const offsets = input.offsets.data();
      std::size_t const rows = input.offsets.extent(0) - 1;
      // Segments differ in length: whoever is free takes the next one.
      using Dynamic = Kokkos::Schedule<Kokkos::Dynamic>;
      Kokkos::parallel_for("tessera::compare::std_sort_segments",
                           Kokkos::RangePolicy<Exec, Dynamic, Kokkos::IndexType<std::size_t>>(exec, 0, rows),
                           [=](std::size_t row) {
                             T* const begin = keys + offsets[row];
                             T* const end = std::copy(from + offsets[row], from + offsets[row + 1], begin);
                             std::sort(begin, end);
                           });
    }
  };
};

}  // namespace

Peer std_sort_segments() { return {"sort_segments", {rows<SortSegments, Std>()}}; }

}  // namespace tessera::compare
