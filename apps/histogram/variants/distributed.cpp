/// \file
/// On several ranks: each rank counts its own block (kernels/histogram.hpp), then the ranks' counts are added, bin by
/// bin. All ranks have the result.

#include "../problem.hpp"

#include <span>

#include <tessera/kernels/histogram.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed", .level = Level::ranks, .summary = "each rank counts its block, then the counts are added"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Histogram, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          count_(exec, input.in.extent(0), input.parameters.template rule<T>(), input.parameters.tile,
                 input.parameters.team, "tessera::histogram::distributed"),
          words_("tessera::histogram::distributed::words", static_cast<std::size_t>(input.parameters.bins) + 1) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<std::int64_t*, Exec> const& counts,
                    ArrayOn<std::int64_t, Exec> const& outside) const {
      count_(exec, in, counts, outside);
      if (ranks_.count() == 1) return;
      auto const words = words_;
      std::size_t const bins = counts.size();
      auto const all = over(exec, bins + 1);
      Kokkos::parallel_for(
          "tessera::histogram::distributed::give", all,
          KOKKOS_LAMBDA(std::size_t bin) { words(bin) = bin < bins ? counts(bin) : outside(); });
      exec.fence("tessera::histogram::distributed: own counts");
      ranks_.sum(std::span(words_.data(), words_.size()));
      Kokkos::parallel_for(
          "tessera::histogram::distributed::get", all,
          KOKKOS_LAMBDA(std::size_t bin) { (bin < bins ? counts(bin) : outside()) = words(bin); });
    }

   private:
    ranks::Ranks const& ranks_;
    kernels::ScratchHistogram<Exec, T> count_;
    // The bins' counts, then the count outside, in memory that kernels and the host share: copies would take longer.
    Kokkos::View<std::int64_t*, Kokkos::SharedHostPinnedSpace> words_;
  };
};

VariantRows distributed() { return rows<Histogram, Distributed>(); }

}  // namespace tessera::histogram
