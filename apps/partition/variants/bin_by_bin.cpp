/// \file
/// One scan per bin. For each element of the bin it counts the elements of the same bin before it: its place behind the
/// smaller bins. Simple and stable, but the whole array is read once per bin.

#include "../pivot_bins.hpp"
#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct BinByBin {
  static constexpr VariantInfo info{.name = "bin_by_bin",
                                    .level = Level::range,
                                    .summary = "a Kokkos::parallel_scan per bin gives the places of its elements",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Partition, Exec, T> const& input) : end_("tessera::partition::bin_by_bin::end") {
      require_whole_bins(input.parameters, input.in.extent(0));
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& values,
                    ArrayOn<std::int64_t*, Exec> const& left_count, Parameters const& parameters) const {
      PivotBins<T> const bin_of(parameters);
      auto const end = end_;  // of the bins before
      std::size_t const n = in.extent(0);
      std::size_t const counts = left_count.extent(0);
      Kokkos::deep_copy(exec, end, std::int64_t{0});
      for (int bin = 0; bin < static_cast<int>(parameters.bins); ++bin) {
        Kokkos::parallel_scan(
            "tessera::partition::bin_by_bin::scan", over(exec, n),
            KOKKOS_LAMBDA(std::size_t i, std::int64_t& before, bool final) {
              T const x = in(i);
              bool const is_here = bin_of(x) == bin;
              if (final && is_here) values(end() + before) = x;
              before += is_here ? 1 : 0;
              if (final && i + 1 == n && bin < static_cast<int>(counts)) left_count(bin) = end() + before;
            });
        Kokkos::parallel_for(
            "tessera::partition::bin_by_bin::end", over(exec, 1), KOKKOS_LAMBDA(int) {
              if (bin >= static_cast<int>(counts)) return;
              if (n == 0) left_count(bin) = 0;
              end() = left_count(bin);
            });
      }
    }

   private:
    Kokkos::View<std::int64_t, typename Exec::memory_space> end_;
  };
};

VariantRows bin_by_bin() { return rows<Partition, BinByBin>(); }

}  // namespace tessera::partition
