/// \file
/// On several ranks: each rank has its rows of the indices and of the output. `--table` sets the place of the table:
///
///   whole  the whole table on each rank; ranks exchange nothing. The kernel is kernels/embedding.hpp.
///   rows   a block of the table's rows on each rank, for a table that does not fit into the memory of one rank. Each
///          rank asks the owners for the rows of its indices and gets them in an all-to-all
///          (ranks/rows_from_owners.hpp). Every launch asks again, because the indices may have changed.
///
/// A single rank has the whole table in both cases.
///
/// Example, the table a b | c d by rows on 2 ranks: the first rank, with the indices 3 0, has a and gets d from the
/// second.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "../problem.hpp"

#include <tessera/kernels/embedding.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/ranks/rows_from_owners.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed",
      .level = Level::ranks,
      .summary = "indices split over the ranks; the table on every rank, or (--table rows) its rows from their owners"};

  template <ExecutionSpace Exec, class T>
  class Plan {
    using WholeTable = kernels::Embedding<Exec, T>;
    using TableInRows = ranks::RowsFromOwners<Exec, T>;
    using Way = std::variant<WholeTable, TableInRows>;

   public:
    Plan(Exec const& exec, InputOn<Embedding, Exec, T> const& input, ranks::Part const& part)
        : way_(chosen(exec, input, part)) {}

    void operator()(Exec const& exec, InputOn<Embedding, Exec, T> const& input,
                    OutputOn<Embedding, Exec, T> const& output) {
      std::visit([&](auto& way) { way(exec, flat_indices(input.idx), input.w, flat_rows(output.out)); }, way_);
    }

    [[nodiscard]] std::string note() const {
      return std::holds_alternative<TableInRows>(way_) ? "rows from their owners" : "";
    }

   private:
    [[nodiscard]] static Way chosen(Exec const& exec, InputOn<Embedding, Exec, T> const& input,
                                    ranks::Part const& part) {
      constexpr char const* label = "tessera::embedding::distributed";
      std::int64_t const team = input.parameters.team;
      std::size_t const own = input.idx.size();
      if (part.ranks.count() == 1 || !input.parameters.table_in_rows) {
        return Way(std::in_place_type<WholeTable>, exec, own, input.w, team, label);
      }
      Shape const& idx = part.input[0];
      std::size_t const most = ranks::block_of(idx[0], part.ranks.count(), 0).size() * idx[1];
      return Way(std::in_place_type<TableInRows>, exec, part.ranks, own, most, part.input[1][0], input.w, team, label);
    }

    Way way_;
  };
};

VariantRows distributed() { return rows<Embedding, Distributed>(); }

}  // namespace tessera::embedding
