/// \file
/// Kokkos' parallel version of the C++ standard algorithms: inclusive_scan and exclusive_scan over Views. They know
/// nothing of segments: for those the elements are turned into values that carry a mark, scanned, and turned back
/// (three launches, and the values are twice as wide).

#include <Kokkos_StdAlgorithms.hpp>

#include "../scan_plan.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

namespace {

template <class Exec, class Elements>
class StdAlgorithmScan {
 public:
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  using Values = Kokkos::View<Value*, typename Exec::memory_space>;
  static constexpr bool direct = std::is_same_v<Scalar, Value>;

  StdAlgorithmScan(Exec const&, Elements const& elements, std::size_t n, PrefixSum::Parameters const&)
      : elements_(elements),
        n_(n),
        values_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::prefix_sum::std_scan::values"),
                direct ? 0 : n),
        scanned_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::prefix_sum::std_scan::scanned"),
                 direct ? 0 : n) {}

  void operator()(Exec const& exec, Scalar const* in, Scalar* out) const {
    namespace algorithms = Kokkos::Experimental;
    constexpr char const* label = "tessera::prefix_sum::std_scan::scan";
    if constexpr (direct) {
      using From = Kokkos::View<Scalar const*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
      using To = Kokkos::View<Scalar*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
      if (elements_.exclusive) {
        algorithms::exclusive_scan(label, exec, From(in, n_), To(out, n_), elements_.op().identity(), elements_.op());
      } else {
        algorithms::inclusive_scan(label, exec, From(in, n_), To(out, n_), elements_.op());
      }
    } else {
      Elements const elements = elements_;
      Values const values = values_;
      Values const scanned = scanned_;
      Kokkos::parallel_for(
          "tessera::prefix_sum::std_scan::lift", Kokkos::RangePolicy<Exec>(exec, 0, n_),
          KOKKOS_LAMBDA(std::size_t i) { values(i) = elements.lift(i, in[i]); });
      algorithms::inclusive_scan(label, exec, values, scanned, elements.op());
      Kokkos::parallel_for(
          "tessera::prefix_sum::std_scan::lower", Kokkos::RangePolicy<Exec>(exec, 0, n_), KOKKOS_LAMBDA(std::size_t i) {
            out[i] = elements.lower(i, i > 0 ? scanned(i - 1) : elements.op().identity(), scanned(i));
          });
    }
  }

  /// How long the algorithm's chains of additions are is not documented: the worst case.
  [[nodiscard]] double rounding_steps() const { return static_cast<double>(n_); }
  [[nodiscard]] std::string note() const { return {}; }

 private:
  Elements elements_;
  std::size_t n_;
  Values values_;
  Values scanned_;
};

}  // namespace

struct StdScan {
  static constexpr VariantInfo info{
      .name = "std_scan",
      .level = Level::library,
      .summary = "Kokkos::Experimental::inclusive_scan / exclusive_scan",
      // On CUDA Kokkos hands them to Thrust, whose single pass adds in the order of arrival.
      .deterministic = false,
      .ordered_by = "arrival"};
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<StdAlgorithmScan, Exec, T>;
};

VariantRows std_scan() { return rows<PrefixSum, StdScan>(); }

}  // namespace tessera::prefix_sum
