/// \file
/// The baseline, step by step: one flag per element, Kokkos::parallel_scan of the flags, then each element goes to its
/// place. All scanned counts are stored, so that the counts of any segment can be looked up.

#include "../predicate.hpp"
#include "../problem.hpp"

#include <algorithm>
#include <limits>

#include <tessera/collective/divider.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct ScanScatter {
  static constexpr VariantInfo info{.name = "scan_scatter",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_scan of flags, scatter: the baseline",
                                    .lesson = true};
  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Partition, Exec, T> const& input) {
      require_two_sides(input.parameters);
      std::size_t const n = input.in.extent(0);
      if (n > std::numeric_limits<std::uint32_t>::max()) {
        throw Skip(std::to_string(n) + " elements (the counts before them are kept in 32 bits)");
      }
      before_ = Counts("tessera::partition::scan_scatter::before", n + 1);  // zeros: before(0) stays 0
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& values,
                    ArrayOn<std::int64_t*, Exec> const& left_count, Parameters const& parameters) const {
      LessThanPivot<T> const is_left(parameters.pivot);
      auto const before = before_;  // before(i), i <= n: number of left elements before element i
      bool const reversed = parameters.reversed;
      std::size_t const n = in.extent(0);
      std::size_t const segments = left_count.extent(0);
      std::size_t const length = parameters.segment == 0 ? std::max<std::size_t>(1, n) : parameters.segment;
      collective::Divider const segment_of(length);

      Kokkos::parallel_scan(
          "tessera::partition::scan_scatter::scan", over(exec, n),
          KOKKOS_LAMBDA(std::size_t i, std::uint32_t& running, bool final) {
            if (final) before(i) = running;
            running += is_left(in(i)) ? 1 : 0;
            if (final && i + 1 == n) before(n) = running;
          });
      Kokkos::parallel_for(
          "tessera::partition::scan_scatter::scatter", over(exec, std::max(n, segments)), KOKKOS_LAMBDA(std::size_t i) {
            if (i < segments) left_count(i) = before(Kokkos::min(n, (i + 1) * length)) - before(i * length);
            if (i >= n) return;
            std::size_t const begin = segment_of(i) * length;
            std::size_t const end = n - begin < length ? n : begin + length;
            std::uint32_t const left = before(i) - before(begin);
            std::size_t const rights = i - begin - left;  // before this element
            std::size_t const right = reversed ? end - 1 - rights : begin + (before(end) - before(begin)) + rights;
            values(is_left(in(i)) ? begin + left : right) = in(i);
          });
    }

   private:
    using Counts = Kokkos::View<std::uint32_t*, typename Exec::memory_space>;
    Counts before_;
  };
};

VariantRows scan_scatter() { return rows<Partition, ScanScatter>(); }

}  // namespace tessera::partition
