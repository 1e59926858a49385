/// \file
/// A Kokkos::Experimental::Graph: each chain is a path from the root. On CUDA and HIP one submission launches all
/// kernels; on hosts Kokkos runs the nodes one after another.

#include "../chains.hpp"
#include "../graph.hpp"

namespace tessera::concurrent {

struct KokkosGraph {
  static constexpr VariantInfo info{
      .name = "kokkos_graph", .level = Level::range, .summary = "a Kokkos::Experimental::Graph, a path per chain"};

  template <ExecutionSpace Exec, class T>
  class Plan : public FixedChains<Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<Concurrent, Exec, T> const& input)
        : Plan::FixedChains(exec, input), graph_(graph_of(exec, [this](Node<Exec> const& root) { add_chains(root); })) {
      graph_.instantiate();
    }

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const& in, ArrayOn<T*, Exec> const& out) const {
      this->set_ends("tessera::concurrent::kokkos_graph::ends", exec, in.data(), out.data());
      graph_.submit(exec);
    }

   private:
    void add_chains(Node<Exec> const& root) const {
      // The policy of a node names no instance: nodes run where the graph is submitted.
      using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::size_t>>;
      for (std::int64_t chain = 0; chain < this->chains().count; ++chain) {
        std::size_t const size = this->chains().chunk(chain).size;
        Node<Exec> last = root;
        for (std::int64_t kernel = 0; size > 0 && kernel < this->chains().kernels; ++kernel) {
          last = last.then_parallel_for("tessera::concurrent::kokkos_graph::step", Policy(0, size),
                                        this->kernel(chain, kernel));
        }
      }
    }

    Kokkos::Experimental::Graph<Exec> graph_;
  };
};

VariantRows kokkos_graph() { return rows<Concurrent, KokkosGraph>(); }

}  // namespace tessera::concurrent
