/// \file
/// The serial oracle of embedding: one loop over the positions, one over a row. Elements are copied, so that nothing
/// may differ: the scale is empty. On several ranks with a table in rows, the ranks show their rows one after the
/// other, and each takes of them what its indices name.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::embedding {

namespace {

// One rank's bytes, to all others.
void show(ranks::Ranks const& ranks, int rank, void* data, std::size_t bytes) {
  std::vector<ranks::Message> sent;
  std::vector<ranks::Message> received;
  for (int other = 0; other < ranks.count(); ++other) {
    if (other == ranks.rank() || bytes == 0) continue;
    if (rank == ranks.rank()) sent.push_back({other, data, bytes});
    if (other == rank) received.push_back({other, data, bytes});
  }
  ranks.exchange(sent, received);
}

}  // namespace

template <class T>
std::vector<ExpectedField> Embedding::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const batch = input.idx.extent(0);
  std::size_t const length = input.idx.extent(1);
  std::size_t const width = input.w.extent(1);
  MovedElements<T> out("out", {batch, length, width});
  // Positions have nothing to do with each other: some at a time are a serial loop, several of these run side by side.
  std::int32_t const* const indices = input.idx.data();
  std::size_t const together = blocks_in(1 << 14, std::max<std::size_t>(1, width));
  for_blocks(batch * length, together, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t position = begin; position < end; ++position) {
      std::int64_t const index = indices[position];
      bool const is_there = index >= 0 && index < static_cast<std::int64_t>(input.w.extent(0));
      for (std::size_t e = 0; e < width; ++e) out.set(position * width + e, is_there ? input.w(index, e) : T(0));
    }
  });
  return list_of(out.take());
}

template <class T>
std::vector<ExpectedField> Embedding::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                        ranks::Part const& part) {
  if (!input.parameters.table_in_rows) return reference<T>(input);
  std::size_t const rows = part.input[1][0];
  std::size_t const width = part.input[1][1];
  std::int32_t const* const indices = input.idx.data();
  ExpectedField out = zero_field("out", {input.idx.extent(0), input.idx.extent(1), width});

  // Positions in the order of the rows that they ask for: those outside of the table first and last.
  std::vector<std::size_t> positions(input.idx.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  std::ranges::sort(positions, {}, [&](std::size_t i) { return indices[i]; });
  auto next = std::ranges::find_if(positions, [&](std::size_t i) { return indices[i] >= 0; });

  std::size_t const at_a_time = std::max<std::size_t>(1, (std::size_t{1} << 20) / std::max<std::size_t>(1, width));
  std::vector<T> shown(std::min(at_a_time, rows) * width);
  for (int rank = 0; rank < part.ranks.count(); ++rank) {
    ranks::Block const theirs = ranks::block_of(rows, part.ranks.count(), rank);
    for (std::size_t first = theirs.begin; first < theirs.end; first += at_a_time) {
      std::size_t const end = std::min(first + at_a_time, theirs.end);
      if (rank == part.ranks.rank()) {
        std::copy_n(input.w.data() + (first - theirs.begin) * width, (end - first) * width, shown.begin());
      }
      show(part.ranks, rank, shown.data(), (end - first) * width * sizeof(T));
      for (; next != positions.end() && static_cast<std::size_t>(indices[*next]) < end; ++next) {
        T const* const row = shown.data() + (static_cast<std::size_t>(indices[*next]) - first) * width;
        for (std::size_t e = 0; e < width; ++e) out.value[*next * width + e] = static_cast<double>(row[e]);
      }
    }
  }
  return list_of(std::move(out));
}

}  // namespace tessera::embedding

template struct tessera::References<tessera::embedding::Embedding>;
