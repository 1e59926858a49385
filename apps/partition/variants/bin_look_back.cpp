/// \file
/// A count of all bins, then a single pass in which each tile looks back at the counts of its predecessors, bin by bin:
/// 3n traffic for up to 256 bins. The kernel is kernels/split.hpp.

#include "../pivot_bins.hpp"
#include "../problem.hpp"

#include <tessera/kernels/split.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct BinLookBack {
  static constexpr VariantInfo info{.name = "bin_look_back",
                                    .level = Level::device,
                                    .summary = "up to 256 bins in a count and a single pass with look-back per bin"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
        : split_((check(input), exec), input.in.extent(0), static_cast<int>(input.parameters.bins),
                 PivotBins<T>(input.parameters), "tessera::partition::bin_look_back"),
          offsets_(unset("tessera::partition::bin_look_back::offsets"),
                   static_cast<std::size_t>(input.parameters.bins) + 1) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& values,
                    ArrayOn<std::int64_t*, Exec> const& left_count) {
      std::size_t const counts = left_count.extent(0);
      if (counts == 0) return;  // no elements, no segments
      split_(exec, in, values, offsets_);
      Kokkos::deep_copy(exec, left_count, Kokkos::subview(offsets_, Kokkos::make_pair(std::size_t{1}, counts + 1)));
    }

    [[nodiscard]] std::string note() const { return split_.note(); }

   private:
    static void check(InputOn<Partition, Exec, T> const& input) {
      require_whole_bins(input.parameters, input.in.extent(0));
      if (input.parameters.tile != 0 || input.parameters.team != 0) {
        throw Skip("--tile or --team (tiles and teams are cut for registers, at compile time)");
      }
    }

    kernels::BinSplit<Exec, T, PivotBins<T>> split_;
    ArrayOn<std::int64_t*, Exec> offsets_;
  };
};

VariantRows bin_look_back() { return rows<Partition, BinLookBack>(); }

}  // namespace tessera::partition
