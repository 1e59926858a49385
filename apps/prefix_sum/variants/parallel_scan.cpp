/// \file
/// The baseline: Kokkos::parallel_scan over all elements. What Kokkos does with it is Kokkos' affair: on a host one
/// chain of additions a thread, on a GPU two launches with at least 3n traffic.

#include "../scan_plan.hpp"

#include <tessera/app/make_app.hpp>

namespace tessera::prefix_sum {

namespace {

template <class Exec, class Elements>
class KokkosScan {
 public:
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;

  // Kokkos finds value_type, init and join by name; join must keep the order (earlier, later).
  struct Functor {
    using value_type = Value;
    Elements elements;
    Scalar const* in;
    Scalar* out;

    KOKKOS_FUNCTION void init(Value& value) const { value = elements.op().identity(); }
    KOKKOS_FUNCTION void join(Value& earlier, Value const& later) const { earlier = elements.op()(earlier, later); }
    KOKKOS_FUNCTION void operator()(std::size_t i, Value& running, bool final) const {
      Value const before = running;
      running = elements.op()(running, elements.lift(i, in[i]));
      if (final) out[i] = elements.lower(i, before, running);
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
