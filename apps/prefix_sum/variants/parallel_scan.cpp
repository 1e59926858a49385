/// \file
/// The baseline: Kokkos::parallel_scan over all elements. What Kokkos does with it is Kokkos' affair: on a host one
/// chain of additions a thread, on a GPU two launches with at least 3n traffic.

#include "../scan_plan.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

namespace {

// A value and where it begins. Kokkos' scan assumes a commutative join: on CUDA (4.6) it passes the later value first.
// With its place, a value that does not commute can be put in order.
template <class Value>
struct Placed {
  Value value;
  std::size_t begin;
};

template <class Exec, class Elements>
class KokkosScan {
 public:
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;

  // The identity begins after everything, so that what it is joined with keeps its place.
  static constexpr std::size_t nowhere = ~std::size_t{0};

  // Kokkos finds value_type, init and join by name.
  struct Functor {
    using value_type = std::conditional_t<Elements::commutative, Value, Placed<Value>>;
    Elements elements;
    Scalar const* in;
    Scalar* out;

    KOKKOS_FUNCTION void init(value_type& running) const {
      if constexpr (Elements::commutative) {
        running = elements.op().identity();
      } else {
        running = {elements.op().identity(), nowhere};
      }
    }
    KOKKOS_FUNCTION void join(value_type& a, value_type const& b) const {
      auto const op = elements.op();
      if constexpr (Elements::commutative) {
        a = op(a, b);
      } else if (a.begin <= b.begin) {
        a = {op(a.value, b.value), a.begin};
      } else {
        a = {op(b.value, a.value), b.begin};
      }
    }
    KOKKOS_FUNCTION void operator()(std::size_t i, value_type& running, bool final) const {
      if constexpr (Elements::commutative) {
        Value const before = running;
        running = elements.op()(before, elements.lift(i, in[i]));
        if (final) out[i] = elements.lower(i, before, running);
      } else {
        Value const before = running.value;
        join(running, {elements.lift(i, in[i]), i});
        if (final) out[i] = elements.lower(i, before, running.value);
      }
    }
  };

  KokkosScan(Exec const&, Elements const& elements, std::size_t n, PrefixSum::Parameters const&)
      : elements_(elements), n_(n) {}

  void operator()(Exec const& exec, Scalar const* in, Scalar* out) const {
    Kokkos::parallel_scan("tessera::prefix_sum::parallel_scan::scan", Kokkos::RangePolicy<Exec>(exec, 0, n_),
                          Functor{elements_, in, out});
  }

  /// How long Kokkos' chains of additions are is not documented: the worst case.
  [[nodiscard]] double rounding_steps() const { return static_cast<double>(n_); }
  [[nodiscard]] std::string note() const { return {}; }

 private:
  Elements elements_;
  std::size_t n_;
};

}  // namespace

struct ParallelScan {
  static constexpr VariantInfo info{
      .name = "parallel_scan", .level = Level::range, .summary = "Kokkos::parallel_scan, the baseline"};
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<KokkosScan, Exec, T>;
};

VariantRows parallel_scan() { return rows<PrefixSum, ParallelScan>(); }

}  // namespace tessera::prefix_sum
