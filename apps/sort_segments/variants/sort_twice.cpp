/// \file
/// Two stable sorts by digits: all keys by their value, then by the number of their segment. The time depends on the
/// number of keys, and not on the lengths. Places move with the keys; a last launch gathers keys and values.

#include "../problem.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <tessera/kernels/sort.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::sort_segments {

struct SortTwice {
  static constexpr VariantInfo info{.name = "sort_twice",
                                    .level = Level::device,
                                    .summary = "the array sorted by keys, then by segments, both stable"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<SortSegments, Exec, T> const& input)
        : keys_(unset("tessera::sort_segments::sort_twice::keys"), checked(input)),
          numbers_(unset("tessera::sort_segments::sort_twice::segments"), input.keys.extent(0)),
          sorted_numbers_(unset("tessera::sort_segments::sort_twice::sorted_segments"), input.keys.extent(0)),
          places_(unset("tessera::sort_segments::sort_twice::places"), input.keys.extent(0)),
          by_key_(unset("tessera::sort_segments::sort_twice::by_key"), input.keys.extent(0)),
          sort_keys_(exec, input.keys.extent(0), {.descending = input.parameters.descending},
                     "tessera::sort_segments::sort_twice::keys"),
          sort_numbers_(exec, input.keys.extent(0), {.end_bit = bits_of(input.offsets.extent(0) - 1)},
                        "tessera::sort_segments::sort_twice::segments") {}

    void operator()(Exec const& exec, InputOn<SortSegments, Exec, T> const& in,
                    OutputOn<SortSegments, Exec, T> const& out) {
      std::size_t const n = in.keys.extent(0);
      std::size_t const rows = in.offsets.extent(0) - 1;
      auto const places = places_;
      auto const by_key = by_key_;
      auto const numbers = numbers_;
      Kokkos::parallel_for(
          "tessera::sort_segments::sort_twice::places", over(exec, n),
          KOKKOS_LAMBDA(std::size_t i) { places(i) = static_cast<std::uint32_t>(i); });
      sort_keys_(exec, in.keys, places_, keys_, by_key_);
      Kokkos::parallel_for(
          "tessera::sort_segments::sort_twice::segments", over(exec, n), KOKKOS_LAMBDA(std::size_t i) {
            std::size_t low = 0;  // the last segment that begins at or before the key
            for (std::size_t high = rows - 1; low < high;) {
              std::size_t const middle = low + (high - low + 1) / 2;
              bool const before = in.offsets(middle) <= static_cast<std::int64_t>(by_key(i));
              (before ? low : high) = before ? middle : middle - 1;
            }
            numbers(i) = static_cast<std::uint32_t>(low);
          });
      sort_numbers_(exec, numbers_, by_key_, sorted_numbers_, places_);
      Kokkos::parallel_for(
          "tessera::sort_segments::sort_twice::gather", over(exec, n), KOKKOS_LAMBDA(std::size_t i) {
            out.keys(i) = in.keys(places(i));
            if (in.values.extent(0) > 0) out.values(i) = in.values(places(i));
          });
    }

   private:
    // The number of keys. Called before the first allocation.
    [[nodiscard]] static std::size_t checked(InputOn<SortSegments, Exec, T> const& input) {
      std::size_t const most = std::numeric_limits<std::uint32_t>::max();
      if (std::max(input.keys.extent(0), input.offsets.extent(0)) > most) {
        throw Skip(std::to_string(input.keys.extent(0)) + " keys (places and segments are kept in 32 bits)");
      }
      if (input.parameters.team != 0) throw Skip("--team (teams are cut for registers, at compile time)");
      return input.keys.extent(0);
    }

    using Words = ArrayOn<std::uint32_t*, Exec>;
    [[nodiscard]] static int bits_of(std::size_t rows) {
      return std::clamp(static_cast<int>(std::bit_width(std::max<std::size_t>(rows, 1) - 1)), 1, 32);
    }

    ArrayOn<T*, Exec> keys_;
    Words numbers_;
    Words sorted_numbers_;
    Words places_;
    Words by_key_;
    kernels::OnesweepSort<Exec, T, std::uint32_t> sort_keys_;
    kernels::OnesweepSort<Exec, std::uint32_t, std::uint32_t> sort_numbers_;
  };
};

VariantRows sort_twice() { return rows<SortSegments, SortTwice>(); }

}  // namespace tessera::sort_segments
