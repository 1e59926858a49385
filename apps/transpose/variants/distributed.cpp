/// \file
/// On several ranks: each rank transposes its rows (kernels/transpose.hpp), so that the elements for any other rank are
/// contiguous. Then an all-to-all gives every rank its parts, which it puts side by side.
///
/// Example, 2 ranks: rank 0 has 1 2 3, rank 1 has 4 5 6. Transposed: 1 | 2 | 3 and 4 | 5 | 6. Rank 0 owns two rows of
/// the output: it gets 1 | 2 and 4 | 5 and makes 1 4 | 2 5. Rank 1 makes 3 6.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../problem.hpp"

#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/kernels/transpose.hpp>
#include <tessera/ranks/bulk.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank transposes its rows, then an all-to-all exchange"};

  template <ExecutionSpace Exec, class T>
  class Plan {
    using Memory = typename Exec::memory_space;

   public:
    Plan(Exec const& exec, InputOn<Transpose, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          rows_(part.input[0][0]),
          cols_(part.input[0][1]),
          move_(exec, input.a.extent(0), cols_, input.parameters.team, "tessera::transpose::distributed::move"),
          moved_(unset("tessera::transpose::distributed::moved"), alone() ? 0 : cols_, input.a.extent(0)),
          parts_(unset("tessera::transpose::distributed::parts"), alone() ? 0 : own_cols() * rows_),
          bulk_(exec, part.ranks, "tessera::transpose::distributed",
                {.messages = static_cast<std::size_t>(part.ranks.count()),
                 .sent = moved_.size() * sizeof(T),
                 .received = parts_.size() * sizeof(T)}) {
      std::size_t const own_rows = input.a.extent(0);
      for (int rank = 0; rank < ranks_.count(); ++rank) {
        ranks::Block const to = ranks::block_of(cols_, ranks_.count(), rank);
        ranks::Block const from = ranks::block_of(rows_, ranks_.count(), rank);
        sent_.push_back({rank, moved_.data() + to.begin * own_rows, to.size() * own_rows * sizeof(T)});
        received_.push_back({rank, parts_.data() + from.begin * own_cols(), from.size() * own_cols() * sizeof(T)});
      }
    }

    void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& input,
                    OutputOn<Transpose, Exec, T> const& output) {
      if (alone()) return move_(exec, input.a, output.out);
      move_(exec, input.a, moved_);
      bulk_(exec, sent_, received_);
      for (int rank = 0; rank < ranks_.count(); ++rank)
        put(exec, ranks::block_of(rows_, ranks_.count(), rank), output.out);
    }

    /// Copies a rank's part to these columns of the output. Public because CUDA allows no device lambda in a private
    /// function.
    template <class Out>
    void put(Exec const& exec, ranks::Block cols, Out const& out) const {
      if (cols.size() == 0 || own_cols() == 0) return;
      using Part = Kokkos::View<T**, Kokkos::LayoutRight, Memory, Kokkos::MemoryUnmanaged>;
      Part const part(parts_.data() + cols.begin * own_cols(), own_cols(), cols.size());
      auto const first = static_cast<std::int64_t>(cols.begin);
      // deep_copy reaches only a tenth of a GPU's bandwidth on columns of a matrix.
      Kokkos::parallel_for(
          "tessera::transpose::distributed::put",
          kernels::columns_first<std::int64_t>(exec, kernels::mdrange_tiles<Exec>(own_cols(), cols.size())),
          KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { out(row, first + col) = part(row, col); });
    }

   private:
    [[nodiscard]] bool alone() const { return ranks_.count() == 1; }
    [[nodiscard]] std::size_t own_cols() const { return ranks_.block(cols_).size(); }

    ranks::Ranks const& ranks_;
    std::size_t rows_;  // on all ranks
    std::size_t cols_;
    kernels::Transpose<Exec, T> move_;
    Array<T**, Memory> moved_;  // this rank's rows as columns
    Array<T*, Memory> parts_;   // the parts from all ranks, one after the other
    ranks::Bulk<Exec> bulk_;
    std::vector<ranks::Message> sent_;      // to each rank: its rows of the output
    std::vector<ranks::Message> received_;  // from each rank: the columns that were its rows
  };
};

VariantRows distributed() { return rows<Transpose, Distributed>(); }

}  // namespace tessera::transpose
