/// \file
/// The lanes of a thread sort one segment, as many lanes as a segment of mean length keeps busy. A key's place is the
/// number of keys that come before it: its lane counts them, and no lane waits for another. The work is quadratic in
/// the length, so that this suits short segments.

#include "../pairs.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::sort_segments {

struct LanesPerSegment {
  static constexpr VariantInfo info{.name = "lanes_per_segment",
                                    .level = Level::lane,
                                    .summary = "each lane counts the keys that come before its own; short segments",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    using Teams = Kokkos::TeamPolicy<Exec>;
    static constexpr std::int64_t most = 1024;  // keys of a segment: 2^20 comparisons
    int lanes = 1;
    int threads;

    Plan(Exec const& exec, InputOn<SortSegments, Exec, T> const& input) {
      std::int64_t const longest = longest_of(exec, input.offsets);
      if (longest > most) throw Skip("a segment of " + std::to_string(longest) + " keys (here at most 1024)");
      std::size_t const mean = input.keys.extent(0) / std::max<std::size_t>(1, input.offsets.extent(0) - 1);
      if (is_gpu<Exec>) lanes = static_cast<int>(std::bit_floor(std::clamp<std::size_t>(mean, 1, 32)));
      threads = kernels::team_size(exec, input.parameters.team, lanes);
    }

    [[nodiscard]] static std::int64_t longest_of(Exec const& exec, ArrayOn<std::int64_t const*, Exec> const& offsets) {
      std::int64_t longest = 0;
      auto const compare = KOKKOS_LAMBDA(std::size_t r, std::int64_t& length) {
        length = Kokkos::max(length, offsets(r + 1) - offsets(r));
      };
      Kokkos::parallel_reduce("tessera::sort_segments::longest_segment", over(exec, offsets.extent(0) - 1), compare,
                              Kokkos::Max<std::int64_t>(longest));
      return longest;
    }

    void operator()(Exec const& exec, InputOn<SortSegments, Exec, T> const& in,
                    OutputOn<SortSegments, Exec, T> const& out) const {
      std::size_t const rows = in.offsets.extent(0) - 1;
      collective::KeyOrder<T> const order(in.parameters.descending);
      Pairs<Exec, T> const result{out.keys, out.values};
      auto const sort_some = KOKKOS_LAMBDA(typename Teams::member_type const& team) {
        std::size_t const r = static_cast<std::size_t>(team.league_rank()) * team.team_size() + team.team_rank();
        if (r >= rows) return;
        std::int64_t const begin = in.offsets(r);
        std::int64_t const end = in.offsets(r + 1);
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, begin, end), [&](std::int64_t i) {
          auto const own = order(in.keys(i));
          std::int64_t place = begin;
          for (std::int64_t j = begin; j < i; ++j) place += order(in.keys(j)) <= own ? 1 : 0;  // equal keys: stable
          for (std::int64_t j = i + 1; j < end; ++j) place += order(in.keys(j)) < own ? 1 : 0;
          result.take(place, in, i);
        });
      };
      Teams const teams(exec, league_of(tiles_of(rows, threads)), threads, lanes);
      Kokkos::parallel_for("tessera::sort_segments::lanes_per_segment::sort", teams, sort_some);
    }
  };
};

VariantRows lanes_per_segment() { return rows<SortSegments, LanesPerSegment>(); }

}  // namespace tessera::sort_segments
