/// \file
/// The baseline, one step after the other: a flag for each element, Kokkos::parallel_scan of the flags, and then each
/// element knows its place. The counts of all elements stand in memory, so that any segment's can be looked up.

#include "../predicate.hpp"
#include "../problem.hpp"

#include <algorithm>
#include <limits>

#include <tessera/collective/divider.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

namespace {

// before[i]: how many of the elements before i are left ones, for i up to n.
template <class T>
struct CountBefore {
  using value_type = std::uint32_t;
  LessThanPivot<T> is_left;
  T const* in;
  std::uint32_t* before;
  std::size_t n;

  KOKKOS_FUNCTION void operator()(std::size_t i, std::uint32_t& running, bool final) const {
    if (final) before[i] = running;
    running += is_left(in[i]) ? 1 : 0;
    if (final && i + 1 == n) before[n] = running;
  }
};

template <class T>
struct Scatter {
  LessThanPivot<T> is_left;
  T const* in;
  std::uint32_t const* before;
  T* values;
  std::int64_t* left_count;
  std::size_t n;
  std::size_t length;  // of a segment
  std::size_t segments;
  collective::Divider segment_of;

  // Lefts in the segment that begins at `begin`.
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t lefts(std::size_t begin) const {
    return before[n - begin < length ? n : begin + length] - before[begin];
  }
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    if (i < segments) left_count[i] = lefts(i * length);
    if (i >= n) return;
    std::size_t const begin = segment_of(i) * length;
    std::uint32_t const left = before[i] - before[begin];
    std::size_t const behind = i + lefts(begin) - left;
    T const x = in[i];
    values[is_left(x) ? begin + left : behind] = x;
  }
};

}  // namespace

struct ScanScatter {
  static constexpr VariantInfo info{.name = "scan_scatter",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_scan of flags, scatter: the baseline"};
  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Partition, Exec, T> const& input)
        : n_(input.in.extent(0)),
          length_(input.parameters.segment == 0 ? std::max<std::size_t>(1, n_) : input.parameters.segment),
          segments_(input.parameters.segments(n_)) {
      if (n_ > std::numeric_limits<std::uint32_t>::max()) {
        throw Skip(std::to_string(n_) + " elements (the counts before them are kept in 32 bits)");
      }
      before_ = Counts("tessera::partition::scan_scatter::before", n_ + 1);  // zeros: of no elements none is left
    }

    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) const {
      LessThanPivot<T> const is_left(input.parameters.pivot);
      T const* const in = input.in.data();
      Kokkos::parallel_scan("tessera::partition::scan_scatter::scan", Kokkos::RangePolicy<Exec>(exec, 0, n_),
                            CountBefore<T>{is_left, in, before_.data(), n_});
      Kokkos::parallel_for("tessera::partition::scan_scatter::scatter",
                           Kokkos::RangePolicy<Exec>(exec, 0, std::max(n_, segments_)),
                           Scatter<T>{is_left, in, before_.data(), output.values.data(), output.left_count.data(), n_,
                                      length_, segments_, collective::Divider(length_)});
    }

   private:
    using Counts = Kokkos::View<std::uint32_t*, typename Exec::memory_space>;
    std::size_t n_;
    std::size_t length_;
    std::size_t segments_;
    Counts before_;
  };
};

VariantRows scan_scatter() { return rows<Partition, ScanScatter>(); }

}  // namespace tessera::partition
