#pragma once
/// \file
/// An all-to-all in uneven blocks, in the memory of an execution space: every rank has made something for each of n
/// rows, and sends it to the rank that owns the row. Nothing is combined: an owner gets the data of every rank, in the
/// order of the ranks.
///
/// Example, 3 rows on 2 ranks, which made a b c and A B C: a b | A B go to rank 0, c | C to rank 1.

#include <cstddef>
#include <string>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/ranks/bulk.hpp>

namespace tessera::ranks {

/// Must be constructed and called by all ranks. A call sends n - own rows, and receives the own rows from each other
/// rank.
template <ExecutionSpace Exec, class T>
class RowsToOwners {
 public:
  /// One of several arrays with data for each row: `row` elements per row, in memory of Exec. `made` is [n, row], `got`
  /// is [ranks, own rows, row].
  struct Field {
    T* made;
    T* got;
    std::size_t row;
  };

  /// \param n rows of all ranks together
  RowsToOwners(Exec const& exec, Ranks const& ranks, std::size_t n, std::vector<Field> const& fields,
               std::string const& label)
      : bulk_(exec, ranks, label, most(ranks, n, fields)) {
    std::size_t const own = ranks.block(n).size();
    for (Field const& field : fields) {
      for (int r = 0; r < ranks.count(); ++r) {
        Block const theirs = block_of(n, ranks.count(), r);
        std::size_t const at = static_cast<std::size_t>(r) * own;
        sent_.push_back({r, field.made + theirs.begin * field.row, theirs.size() * field.row * sizeof(T)});
        received_.push_back({r, field.got + at * field.row, own * field.row * sizeof(T)});
      }
    }
  }

  /// Work that was enqueued on `exec` before the call is completed first.
  void operator()(Exec const& exec) { bulk_(exec, sent_, received_); }

 private:
  [[nodiscard]] static MostOfBulk most(Ranks const& ranks, std::size_t n, std::vector<Field> const& fields) {
    auto const count = static_cast<std::size_t>(ranks.count());
    std::size_t const own = ranks.block(n).size();
    MostOfBulk most{.messages = count * fields.size()};
    for (Field const& field : fields) {
      most.sent += (n - own) * field.row * sizeof(T);
      most.received += (count - 1) * own * field.row * sizeof(T);
    }
    return most;
  }

  Bulk<Exec> bulk_;
  std::vector<Message> sent_;
  std::vector<Message> received_;
};

}  // namespace tessera::ranks
