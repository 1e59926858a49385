/// \file
/// On several ranks: each rank has some rows and all of the layer's parameters. dx needs no communication. The
/// gradients of the parameters are sums over all rows: each rank sums over its own rows, without atomics
/// (two_stage_gradients.hpp), and these sums are added in the order of the ranks, so all ranks have the same bits in
/// every run. The short gradients (dgamma, dbeta, dbias) go through the hosts while the device multiplies for dw, which
/// goes from device to device.

#include <cstddef>
#include <string>

#include "../problem.hpp"
#include "../two_stage_gradients.hpp"

#include <tessera/ranks/ordered_all_reduce.hpp>
#include <tessera/ranks/ordered_reduction.hpp>
#include <tessera/table/make_app.hpp>

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
          hidden_(input.hidden()),
          outputs_(input.outputs()),
          gradients_(exec, input, "tessera::layernorm_linear_backward::distributed"),
          columns_(part.ranks, further_ > 0 ? 2 * hidden_ + outputs_ : 0),
          weights_(exec, part.ranks, further_ > 0 ? outputs_ * hidden_ : 0,
                   "tessera::layernorm_linear_backward::distributed") {}

    void operator()(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input,
                    OutputOn<LayernormLinearBackward, Exec, T> const& output) {
      gradients_.rows_and_columns(exec, input, output);
      if (further_ == 0) {
        gradients_.weights(exec, input, output);
        return;
      }
      T* const columns = columns_.values().data();
      copy(exec, host(columns, hidden_), device(output.dgamma.data(), hidden_));
      copy(exec, host(columns + hidden_, hidden_), device(output.dbeta.data(), hidden_));
      copy(exec, host(columns + 2 * hidden_, outputs_), device(output.dbias.data(), outputs_));
      exec.fence("tessera::layernorm_linear_backward::distributed: own sums of columns");
      gradients_.weights(exec, input, output);
      columns_.reduce();
      copy(exec, device(output.dgamma.data(), hidden_), host(columns, hidden_));
      copy(exec, device(output.dbeta.data(), hidden_), host(columns + hidden_, hidden_));
      copy(exec, device(output.dbias.data(), outputs_), host(columns + 2 * hidden_, outputs_));
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
    using Host = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
    using Device = Kokkos::View<T*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
    [[nodiscard]] static Host host(T* from, std::size_t count) { return Host(from, count); }
    [[nodiscard]] static Device device(T* from, std::size_t count) { return Device(from, count); }
    template <class To, class From>
    static void copy(Exec const& exec, To const& to, From const& from) {
      Kokkos::deep_copy(exec, to, from);
    }

    int further_;  // ranks whose sums are added to a rank's own
    std::size_t hidden_;
    std::size_t outputs_;
    TwoStageGradients<Exec, T> gradients_;
    ranks::OrderedReduction<T> columns_;        // dgamma, dbeta, dbias
    ranks::OrderedAllReduce<Exec, T> weights_;  // dw
  };
};

VariantRows distributed() { return rows<LayernormLinearBackward, Distributed>(); }

}  // namespace tessera::layernorm_linear_backward
