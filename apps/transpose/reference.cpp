/// \file
/// The serial oracle of transpose: copies every element to its place.
///
/// Error bound: none. Nothing is computed, so nothing is rounded: every element must be unchanged (scale 0: exact).

#include <algorithm>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::transpose {

template <class T>
std::vector<ExpectedField> Transpose::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const rows = input.a.extent(0);
  std::size_t const cols = input.a.extent(1);
  MovedElements<T> out("out", {cols, rows});
  // Some columns at a time, which are rows of the result: independent loops that run in parallel. Within a loop some
  // rows at a time, so that no cache line is fetched twice.
  constexpr std::size_t together = 64;
  for_blocks(cols, together, [&](std::size_t, std::size_t first_col, std::size_t end_col) {
    for (std::size_t first = 0; first < rows; first += together) {
      std::size_t const end = std::min(rows, first + together);
      for (std::size_t c = first_col; c < end_col; ++c) {
        for (std::size_t r = first; r < end; ++r) out.set(c * rows + r, input.a(r, c));
      }
    }
  });
  return list_of(out.take());
}

// Each rank sends the elements of its rows to the ranks whose rows of the output they belong to, in the input's order.
template <class T>
std::vector<ExpectedField> Transpose::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                        std::vector<ranks::Block> const& output_rows,
                                                        ranks::Part const& part) {
  std::size_t const rows = part.input[0][0];
  std::size_t const own_cols = output_rows[0].size();
  auto const count = static_cast<std::size_t>(part.ranks.count());
  std::vector<std::vector<T>> given(count);
  std::vector<std::vector<T>> got(count);
  std::vector<ranks::Message> sent;
  std::vector<ranks::Message> received;
  for (int rank = 0; rank < part.ranks.count(); ++rank) {
    ranks::Block const cols = ranks::block_of(part.input[0][1], part.ranks.count(), rank);
    std::vector<T>& to = given[static_cast<std::size_t>(rank)];
    std::vector<T>& from = got[static_cast<std::size_t>(rank)];
    for (std::size_t r = 0; r < input.a.extent(0); ++r) {
      for (std::size_t c = cols.begin; c < cols.end; ++c) to.push_back(input.a(r, c));
    }
    from.resize(ranks::block_of(rows, part.ranks.count(), rank).size() * own_cols);
    sent.push_back({rank, to.data(), to.size() * sizeof(T)});
    received.push_back({rank, from.data(), from.size() * sizeof(T)});
  }
  part.ranks.exchange(sent, received);
  ExpectedField out{
      .name = "out", .shape = {own_cols, rows}, .value = std::vector<double>(own_cols * rows), .scale = {}};
  std::size_t r = 0;
  for (std::vector<T> const& from : got) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      out.value[i % own_cols * rows + r + i / own_cols] = static_cast<double>(from[i]);
    }
    r += own_cols == 0 ? 0 : from.size() / own_cols;
  }
  return list_of(std::move(out));
}

}  // namespace tessera::transpose

template struct tessera::References<tessera::transpose::Transpose>;
