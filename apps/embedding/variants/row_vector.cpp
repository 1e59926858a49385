/// \file
/// Lanes share a row, as many as it has packs. Each lane reads the row's index and copies packs with 16-byte accesses,
/// several of them in flight. The kernel is kernels/embedding.hpp.

#include "../problem.hpp"

#include <tessera/kernels/embedding.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

struct RowVector {
  static constexpr VariantInfo info{.name = "row_vector",
                                    .level = Level::team,
                                    .summary = "1 to 32 lanes per row, 16-byte accesses, several rows in flight"};

  template <ExecutionSpace Exec, class T>
  struct Plan : kernels::Embedding<Exec, T> {
    Plan(Exec const& exec, InputOn<Embedding, Exec, T> const& input)
        : Plan::Embedding(exec, input.idx.size(), input.w, input.parameters.team, "tessera::embedding::row_vector") {}

    void operator()(Exec const& exec, InputOn<Embedding, Exec, T> const& input,
                    OutputOn<Embedding, Exec, T> const& output) const {
      Plan::Embedding::operator()(exec, flat_indices(input.idx), input.w, flat_rows(output.out));
    }
  };
};

VariantRows row_vector() { return rows<Embedding, RowVector>(); }

}  // namespace tessera::embedding
