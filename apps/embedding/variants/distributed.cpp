/// \file
/// On several ranks: each has its rows of the indices and of the output, and all of the table. It has nothing to say to the
/// others. The kernel is kernels/embedding.hpp.

#include "../problem.hpp"

#include <tessera/kernels/embedding.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank its rows of indices, the table on all, no communication"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Embedding, Exec, T> const& input, ranks::Part const&)
        : copy_(exec, input.idx.size(), input.w, input.parameters.team, "tessera::embedding::distributed") {}

    void operator()(Exec const& exec, InputOn<Embedding, Exec, T> const& input,
                    OutputOn<Embedding, Exec, T> const& output) const {
      copy_(exec, flat_indices(input.idx), input.w, flat_rows(output.out));
    }

   private:
    kernels::Embedding<Exec, T> copy_;
  };
};

VariantRows distributed() { return rows<Embedding, Distributed>(); }

}  // namespace tessera::embedding
