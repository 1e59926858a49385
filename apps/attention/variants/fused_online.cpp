/// \file
/// All keys pass by a tile of queries once, and no score is ever stored (query_tile.hpp): memory is inputs plus
/// outputs. A team sees all keys, so that few queries leave most of a machine idle: see split_sequence.

#include "../problem.hpp"
#include "../query_tile.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::attention {

struct FusedOnline {
  static constexpr VariantInfo info{
      .name = "fused_online",
      .level = Level::lane,
      .summary = "tiles of queries in registers, all keys pass by once, no scores in memory"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input) : task_(task_of(input)) {
      if (task_.dim > 256) throw Skip("d = " + std::to_string(input.q.extent(1)) + " (a tile has at most 256 columns)");
      choose([&]<class Kernel>() {
        threads_ = Kernel::threads_for(exec, input.parameters.team);
        (void)Kernel::groups(task_, threads_);
        steps_ = Kernel::rounding_steps(task_.keys);
      });
    }

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      if (task_.keys == 0) {
        Kokkos::deep_copy(exec, output.out, T(0));
        return;
      }
      Task<T> const task = with_arrays(task_, input, output);
      choose([&]<class Kernel>() {
        Kernel{task, is_aligned(task)}.enqueue("tessera::attention::fused_online::attend", exec, threads_);
      });
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    /// Calls body.operator()<Kernel>() with the kernel for rows of this length.
    template <class Body>
    void choose(Body const& body) const {
      if (task_.dim <= 64) return body.template operator()<QueryTile<Exec, T, 64>>();
      if (task_.dim <= 128) return body.template operator()<QueryTile<Exec, T, 128>>();
      body.template operator()<QueryTile<Exec, T, 256>>();
    }

    Task<T> task_;
    int threads_ = 1;
    double steps_ = 0;
  };
};

VariantRows fused_online() { return rows<Attention, FusedOnline>(); }

}  // namespace tessera::attention
