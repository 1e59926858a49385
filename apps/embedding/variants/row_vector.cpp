/// \file
/// A few lanes a row, as many as it has packs: an index is read once a row and lane, a row moves with 16-byte accesses,
/// and a thread has several rows under way, because a row is a short piece somewhere in the table. Rows that are no
/// whole number of packs go element by element, neighbouring lanes on neighbouring elements.

#include <limits>

#include "../problem.hpp"
#include "../row_copies.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/kernels/row_tiles.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

struct RowVector {
  static constexpr VariantInfo info{.name = "row_vector",
                                    .level = Level::team,
                                    .summary = "1 to 32 lanes a row, 16-byte accesses, several rows under way"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int pack = collective::pack_width<T>;

    Plan(Exec const& exec, InputOn<Embedding, Exec, T> const& input) {
      std::size_t const width = input.w.extent(1);
      if (width > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        throw Skip("rows of " + std::to_string(width) + " elements (row_vector counts those of a row in 32 bits)");
      }
      in_packs_ = width % pack == 0 && collective::is_aligned_for_packs<pack>(input.w.data());
      lanes_ = kernels::lanes_for<Exec>(in_packs_ ? width / pack : width);
      threads_ = kernels::team_size(exec, input.parameters.team, lanes_);
    }

    void operator()(Exec const& exec, InputOn<Embedding, Exec, T> const& input,
                    OutputOn<Embedding, Exec, T> const& output) const {
      if (output.out.size() == 0) return;
      Lookup<T> const of = lookup(input, output);
      if (in_packs_ && collective::is_aligned_for_packs<pack>(of.out)) {
        copy<pack>(exec, of);
      } else {
        copy<1>(exec, of);
      }
    }

    [[nodiscard]] std::string note() const {
      return std::string(in_packs_ ? "16-byte packs" : "single elements") +
             (is_gpu<Exec> ? ", " + std::to_string(lanes_) + " lanes a row" : "");
    }

   private:
    /// Eight packs under way in each lane: of one row, if it is long enough, since a row is one piece of memory.
    template <int N>
    void copy(Exec const& exec, Lookup<T> const& of) const {
      // On hosts one after the other: their prefetchers follow a row.
      if constexpr (!is_gpu<Exec>) return RowCopies<Exec, T, N, 1, 1>::enqueue(exec, of, threads_, lanes_);
      std::size_t const of_lane = of.width / N / static_cast<std::size_t>(lanes_);
      if (of_lane >= 8) return RowCopies<Exec, T, N, 1, 8>::enqueue(exec, of, threads_, lanes_);
      if (of_lane >= 4) return RowCopies<Exec, T, N, 2, 4>::enqueue(exec, of, threads_, lanes_);
      if (of_lane >= 2) return RowCopies<Exec, T, N, 4, 2>::enqueue(exec, of, threads_, lanes_);
      RowCopies<Exec, T, N, 8, 1>::enqueue(exec, of, threads_, lanes_);
    }

    bool in_packs_ = false;
    int lanes_ = 1;
    int threads_ = 1;
  };
};

VariantRows row_vector() { return rows<Embedding, RowVector>(); }

}  // namespace tessera::embedding
