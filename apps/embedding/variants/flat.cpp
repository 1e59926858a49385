/// \file
/// The plain Kokkos answer: one thread per element of out, with neighbouring threads on neighbouring columns, so that a
/// warp reads and writes contiguous parts of rows. Every thread reads an index and divides by the width.

#include <cstdint>
#include <limits>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

struct Flat {
  static constexpr VariantInfo info{
      .name = "flat", .level = Level::range, .summary = "one thread an element of out, the baseline", .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Embedding, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Embedding, Exec, T> const& input,
                    OutputOn<Embedding, Exec, T> const& output) const {
      // A 64-bit division takes about a hundred instructions on a GPU.
      bool const is_narrow = output.out.size() <= std::size_t{std::numeric_limits<std::int32_t>::max()};
      is_narrow ? enqueue<std::uint32_t>(exec, input, output) : enqueue<std::uint64_t>(exec, input, output);
    }

    // Public because CUDA allows no device lambda in a private function.
    template <class Index>
    void enqueue(Exec const& exec, InputOn<Embedding, Exec, T> const& input,
                 OutputOn<Embedding, Exec, T> const& output) const {
      auto const idx = flat_indices(input.idx);
      auto const w = input.w;
      auto const out = flat_rows(output.out);
      auto const width = static_cast<Index>(w.extent(1));
      Kokkos::parallel_for(
          "tessera::embedding::flat::look_up", over<Index>(exec, out.size()), KOKKOS_LAMBDA(Index i) {
            Index const position = i / width;
            Index const col = i - position * width;
            out(position, col) = has_row(w, idx(position)) ? w(idx(position), col) : T(0);
          });
    }
  };
};

VariantRows flat() { return rows<Embedding, Flat>(); }

}  // namespace tessera::embedding
