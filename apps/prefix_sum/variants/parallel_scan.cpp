/// \file
/// The baseline: Kokkos::parallel_scan over all elements. Kokkos uses one chain of additions per thread on a host, and
/// two launches with at least 3n traffic on a GPU. The length of its chains of additions is not documented.

#include "../scan_plan.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera::prefix_sum {

// A value and its place. Kokkos' scan assumes a commutative join: with Threads (4.6) it passes the later value first.
// The place restores the order of values that do not commute.
template <class Value>
struct Placed {
  Value value;
  std::size_t begin;
};

// Kokkos finds value_type, init and join by name.
template <class Elements, class In, class Out>
struct ScanFunctor {
  using Value = typename Elements::Value;
  using value_type = std::conditional_t<Elements::commutative, Value, Placed<Value>>;
  Elements elements;
  In in;
  Out out;

  KOKKOS_FUNCTION void init(value_type& running) const {
    if constexpr (Elements::commutative) {
      running = elements.op().identity();
    } else {
      // The identity gets the last place, so that a value joined with it keeps its own place.
      running = {elements.op().identity(), ~std::size_t{0}};
    }
  }
  KOKKOS_FUNCTION void join(value_type& a, value_type const& b) const {
    if constexpr (Elements::commutative) {
      a = elements.op()(a, b);
    } else if (a.begin <= b.begin) {
      a = {elements.op()(a.value, b.value), a.begin};
    } else {
      a = {elements.op()(b.value, a.value), b.begin};
    }
  }
  KOKKOS_FUNCTION void operator()(std::size_t i, value_type& running, bool final) const {
    if constexpr (Elements::commutative) {
      Value const before = running;
      running = elements.op()(before, elements.lift(i, in(i)));
      if (final) out(i) = elements.lower(i, before, running);
    } else {
      Value const before = running.value;
      join(running, {elements.lift(i, in(i)), i});
      if (final) out(i) = elements.lower(i, before, running.value);
    }
  }
};

template <class Exec, class T, class Op>
struct KokkosScan {
  using Elements = kernels::ScanElements<T, Op>;

  // On CUDA (4.6) with more than 2^21 elements, a thread of the first pass sums every 128th element. These elements are
  // no neighbours, and no place can put their sum in order.
  KokkosScan(Exec const&, std::size_t, Elements const& all, std::int64_t, std::int64_t, std::string const&)
      : elements(all) {
    if constexpr (is_gpu<Exec> && !Elements::commutative) {
      throw Skip("segments (on a GPU Kokkos' scan joins parts that are not neighbours; segments need their order)");
    }
  }

  template <class In, class Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    Kokkos::parallel_scan("tessera::prefix_sum::parallel_scan::scan", over(exec, in.extent(0)),
                          ScanFunctor<Elements, In, Out>{elements, in, out});
  }

  Elements elements;
};

struct ParallelScan {
  static constexpr VariantInfo info{
      .name = "parallel_scan", .level = Level::range, .summary = "Kokkos::parallel_scan, the baseline"};
  template <class Exec, class T, class Op>
  using Scan = KokkosScan<Exec, T, Op>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<ParallelScan, Exec, T>;
};

VariantRows parallel_scan() { return rows<PrefixSum, ParallelScan>(); }

}  // namespace tessera::prefix_sum
