/// \file
/// Kokkos' parallel versions of the C++ standard algorithms: inclusive_scan and exclusive_scan over Views. They have no
/// segments: for segmented scans the elements are converted into values with a mark, scanned, and converted back (three
/// launches, and values twice as wide). The length of their chains of additions is not documented.

#include <Kokkos_StdAlgorithms.hpp>

#include "../scan_plan.hpp"

namespace tessera::prefix_sum {

template <class Exec, class T, class Op>
class StdAlgorithmScan {
 public:
  using Elements = kernels::ScanElements<T, Op>;
  using Value = typename Elements::Value;
  using Values = Kokkos::View<Value*, typename Exec::memory_space>;
  static constexpr bool direct = std::is_same_v<T, Value>;

  StdAlgorithmScan(Exec const&, std::size_t n, Elements const& elements, std::int64_t, std::int64_t,
                   std::string const& label)
      : label_(label),
        elements_(elements),
        values_(unset(label + "::values"), direct ? 0 : n),
        scanned_(unset(label + "::scanned"), direct ? 0 : n) {}

  template <class In, class Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    namespace algorithms = Kokkos::Experimental;
    std::string const label = label_ + "::scan";
    std::size_t const n = in.extent(0);
    if (n == 0) return;
    if constexpr (direct) {
      if (elements_.exclusive) {
        algorithms::exclusive_scan(label, exec, in, out, elements_.op().identity(), elements_.op());
      } else {
        algorithms::inclusive_scan(label, exec, in, out, elements_.op());
      }
    } else {
      Elements const elements = elements_;
      Values const values = values_;
      Values const scanned = scanned_;
      Kokkos::parallel_for(
          label_ + "::lift", over(exec, n), KOKKOS_LAMBDA(std::size_t i) { values(i) = elements.lift(i, in(i)); });
      algorithms::inclusive_scan(label, exec, values, scanned, elements.op());
      Kokkos::parallel_for(
          label_ + "::lower", over(exec, n), KOKKOS_LAMBDA(std::size_t i) {
            out(i) = elements.lower(i, i > 0 ? scanned(i - 1) : elements.op().identity(), scanned(i));
          });
    }
  }

 private:
  std::string label_;
  Elements elements_;
  Values values_;
  Values scanned_;
};

struct StdScan {
  static constexpr VariantInfo info{
      .name = "std_scan",
      .level = Level::library,
      .summary = "Kokkos::Experimental::inclusive_scan / exclusive_scan",
      // On CUDA Kokkos calls Thrust, whose single-pass scan adds in the order in which tiles arrive.
      .deterministic = false,
      .ordered_by = "arrival"};
  template <class Exec, class T, class Op>
  using Scan = StdAlgorithmScan<Exec, T, Op>;
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<StdScan, Exec, T>;
};

VariantRows std_scan() { return rows<PrefixSum, StdScan>(); }

}  // namespace tessera::prefix_sum
