/// \file
/// On several ranks: each rank has some rows and all of the layer's parameters. dx needs no communication. The
/// gradients of the parameters are sums over all rows: each rank sums over its own rows, without atomics
/// (two_stage_gradients.hpp), and these sums are added in the order of the ranks, so all ranks have the same bits in
/// every run. The short gradients (dgamma, dbeta, dbias) go through the hosts while the device multiplies for dw, which
/// goes from device to device.

#include <string>

#include "../two_stage_gradients.hpp"

#include <tessera/ranks/ordered_all_reduce.hpp>
#include <tessera/ranks/ordered_reduction.hpp>

namespace tessera::layernorm_linear_backward {

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed",
      .level = Level::ranks,
      .summary = "rows split over the ranks, as two_stage; parameter gradients added over the ranks"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input, ranks::Part const& part)
        : further_(part.ranks.count() - 1),
          gradients_(exec, input, label),
          columns_(part.ranks, further_ > 0 ? 2 * input.hidden() + input.outputs() : 0),
          weights_(exec, part.ranks, further_ > 0 ? input.w.size() : 0, label) {}

    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                    OutputOn<LayernormLinearBackward, Exec, T> const& output) {
      gradients_.rows_and_columns(exec, input, output);
      if (further_ == 0) {
        gradients_.weights(exec, input, output);
        return;
      }
      each_of_columns(output, [&](auto const& host, auto const& device) { Kokkos::deep_copy(exec, host, device); });
      exec.fence("tessera::layernorm_linear_backward::distributed: own sums of columns");
      gradients_.weights(exec, input, output);
      columns_.reduce();
      each_of_columns(output, [&](auto const& host, auto const& device) { Kokkos::deep_copy(exec, device, host); });
      weights_(exec, output.dw.data());
    }

    /// Every further rank adds one addition.
    [[nodiscard]] double rounding_steps() const {
      LayernormLinearBackward::Steps steps = gradients_.steps();
      for (double* const sums : {&steps.columns, &steps.dw, &steps.dbias}) *sums += further_;
      return LayernormLinearBackward::chain(steps);
    }
    [[nodiscard]] std::string note() const { return gradients_.note(); }

   private:
    static constexpr char const* label = "tessera::layernorm_linear_backward::distributed";

    // Calls body(on the host, on the device) for each of the short gradients.
    template <class Body>
    void each_of_columns(OutputOn<LayernormLinearBackward, Exec, T> const& output, Body const& body) {
      using Host = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
      T* values = columns_.values().data();
      ArrayOn<T*, Exec> const gradients[] = {output.dgamma, output.dbeta, output.dbias};
      for (ArrayOn<T*, Exec> const& gradient : gradients) {
        body(Host(values, gradient.extent(0)), gradient);
        values += gradient.extent(0);
      }
    }

    int further_;  // ranks whose sums are added to a rank's own
    TwoStageGradients<Exec, T> gradients_;
    ranks::OrderedReduction<T> columns_;        // dgamma, dbeta, dbias
    ranks::OrderedAllReduce<Exec, T> weights_;  // dw
  };
};

VariantRows distributed() { return rows<LayernormLinearBackward, Distributed>(); }

}  // namespace tessera::layernorm_linear_backward
