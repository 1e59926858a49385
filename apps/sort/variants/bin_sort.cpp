/// \file
/// Kokkos::BinSort, on hosts: the highest bits of a key's word are its bin, and each bin is sorted by itself. BinSort
/// alone is not stable, because the keys of a bin come in the order of atomics. Comparing equal keys by their places
/// makes it so. On a GPU one thread sorts a bin by insertion: equal keys would take quadratic time.

#include "../problem.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <string>

#include <Kokkos_Sort.hpp>

#include <tessera/table/make_app.hpp>

namespace tessera::sort {

/// Bins of words, for Kokkos::BinSort.
template <class T>
struct WordBins {
  collective::KeyOrder<T> order;
  int shift;
  int bins;

  KOKKOS_FUNCTION int max_bins() const { return bins; }
  template <class Keys>
  KOKKOS_FUNCTION int bin(Keys const& keys, int i) const {
    return static_cast<int>(order(keys(i)) >> shift);
  }
  /// Returns whether key i comes before key j.
  template <class Keys>
  KOKKOS_FUNCTION bool operator()(Keys const& keys, int i, int j) const {
    auto const of_i = order(keys(i));
    auto const of_j = order(keys(j));
    return of_i < of_j || (of_i == of_j && i < j);
  }
};

struct BinSort {
  static constexpr VariantInfo info{.name = "bin_sort",
                                    .level = Level::library,
                                    .summary = "Kokkos::BinSort by the highest bits, bins sorted by key and place"};

  template <ExecutionSpace Exec, class T>
    requires(!is_gpu<Exec>)
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Sort, Exec, T> const& input) : sort_(exec, input.keys, bins_for(input), true) {}

    void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& in, OutputOn<Sort, Exec, T> const& out) {
      Kokkos::deep_copy(exec, sort_.bin_count_atomic, 0);  // BinSort adds to the counts of the last call
      sort_.create_permute_vector(exec);
      auto const places = sort_.get_permute_vector();
      auto const from = in;
      auto const to = out;
      Kokkos::parallel_for(
          "tessera::sort::bin_sort::gather", over(exec, from.keys.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
            to.keys(i) = from.keys(places(i));
            if (from.values.extent(0) > 0) to.values(i) = from.values(places(i));
            if (from.other_values.extent(0) > 0) to.other_values(i) = from.other_values(places(i));
          });
    }

   private:
    using Keys = Array<T const*, typename Exec::memory_space>;
    // About four keys per bin, if the words are uniform.
    [[nodiscard]] static WordBins<T> bins_for(InputOn<Sort, Exec, T> const& input) {
      std::size_t const n = input.keys.extent(0);
      if (n > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        throw Skip(std::to_string(n) + " keys (Kokkos::BinSort counts them in 31 bits)");
      }
      int const bits =
          input.parameters.last_bit(collective::key_bits<T>) - static_cast<int>(input.parameters.begin_bit);
      int const of_bin = std::min(bits, std::max(1, static_cast<int>(std::bit_width(n / 4))));
      return {input.parameters.template order<T>(), bits - of_bin, 1 << of_bin};
    }

    Kokkos::BinSort<Keys, WordBins<T>, Kokkos::Device<Exec, typename Exec::memory_space>> sort_;
  };
};

VariantRows bin_sort() { return rows<Sort, BinSort>(); }

}  // namespace tessera::sort
