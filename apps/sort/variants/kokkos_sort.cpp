/// \file
/// The baseline: Kokkos::sort. Keys without values are sorted as integers in their own order, because Kokkos' order of
/// floats has no place for NaN, and a GPU sorts integers fastest. Kokkos::sort is not stable, so values, and keys of
/// which some bits count, are sorted by a permutation: equal keys are then compared by their places.

#include "../problem.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <Kokkos_Sort.hpp>

#include <tessera/table/make_app.hpp>

namespace tessera::sort {

/// Integers in the order of the keys, one for each key that is not NaN. -0 comes before 0 here: both are 0.
template <class T>
struct SortedAs {
  using Word = collective::KeyWord<T>;
  static constexpr Word sign = Word(1) << (collective::key_bits<T> - 1);
  Word flip;  // all bits for descending order

  KOKKOS_INLINE_FUNCTION Word operator()(T key) const {
    if (key != key) return ~Word(0);
    auto const bits = Kokkos::bit_cast<Word>(key);
    if (std::is_unsigned_v<T>) return bits ^ flip;
    return (std::is_floating_point_v<T> && (bits & sign) != 0 ? ~bits : bits ^ sign) ^ flip;
  }
  KOKKOS_INLINE_FUNCTION T key(Word word) const {
    if (std::is_floating_point_v<T> && word == ~Word(0)) return Kokkos::bit_cast<T>(~Word(0) >> 1);
    Word const bits = word ^ flip;
    if (std::is_unsigned_v<T>) return Kokkos::bit_cast<T>(bits);
    return Kokkos::bit_cast<T>(std::is_floating_point_v<T> && (bits & sign) == 0 ? ~bits : bits ^ sign);
  }
};

/// The order of places by their keys, equal keys by place.
template <class T, class Keys>
struct ByKeyAndPlace {
  collective::KeyOrder<T> order;
  Keys keys;

  KOKKOS_INLINE_FUNCTION bool operator()(std::uint32_t a, std::uint32_t b) const {
    auto const of_a = order(keys(a));
    auto const of_b = order(keys(b));
    return of_a < of_b || (of_a == of_b && a < b);
  }
};

struct KokkosSort {
  static constexpr VariantInfo info{.name = "kokkos_sort",
                                    .level = Level::library,
                                    .summary = "Kokkos::sort of the keys, or of a permutation: the baseline"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Sort, Exec, T> const& input)
        : by_place_(input.has_values() || input.parameters.template by_some_bits<T>()) {
      std::size_t const n = input.keys.extent(0);
      if (!by_place_) return;
      if (n > std::numeric_limits<std::uint32_t>::max()) {
        throw Skip(std::to_string(n) + " keys (their places are kept in 32 bits)");
      }
      places_ = Places(unset("tessera::sort::kokkos_sort::places"), n);
    }

    void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& in, OutputOn<Sort, Exec, T> const& out) const {
      std::size_t const n = in.keys.extent(0);
      auto const keys = in.keys;
      auto const sorted_keys = out.keys;
      if (!by_place_) {
        using Word = collective::KeyWord<T>;
        SortedAs<T> const as{in.parameters.descending ? ~Word(0) : Word(0)};
        auto const words = unmanaged<typename Exec::memory_space>(reinterpret_cast<Word*>(out.keys.data()), n);
        Kokkos::parallel_for(
            "tessera::sort::kokkos_sort::words", over(exec, n),
            KOKKOS_LAMBDA(std::size_t i) { words(i) = as(keys(i)); });
        Kokkos::sort(exec, words);
        Kokkos::parallel_for(
            "tessera::sort::kokkos_sort::keys", over(exec, n),
            KOKKOS_LAMBDA(std::size_t i) { sorted_keys(i) = as.key(words(i)); });
        return;
      }
      auto const places = places_;
      auto const from = in;
      auto const to = out;
      Kokkos::parallel_for(
          "tessera::sort::kokkos_sort::places", over(exec, n),
          KOKKOS_LAMBDA(std::size_t i) { places(i) = static_cast<std::uint32_t>(i); });
      Kokkos::sort(exec, places, ByKeyAndPlace<T, ArrayOn<T const*, Exec>>{in.parameters.template order<T>(), keys});
      Kokkos::parallel_for(
          "tessera::sort::kokkos_sort::gather", over(exec, n), KOKKOS_LAMBDA(std::size_t i) {
            to.keys(i) = from.keys(places(i));
            if (from.values.extent(0) > 0) to.values(i) = from.values(places(i));
            if (from.other_values.extent(0) > 0) to.other_values(i) = from.other_values(places(i));
          });
    }

   private:
    using Places = Kokkos::View<std::uint32_t*, typename Exec::memory_space>;
    bool by_place_;
    Places places_;
  };
};

VariantRows kokkos_sort() { return rows<Sort, KokkosSort>(); }

}  // namespace tessera::sort
