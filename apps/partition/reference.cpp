/// \file
/// The serial oracle of partition: each segment is read twice, once to count and once to place.
///
/// Error bound: none. Values are moved unchanged and counts are integers, so every variant must give the same numbers
/// (scale 0, no roundings). A NaN is not less than any pivot: it goes right, in order with the other right elements.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::partition {

namespace {

// Returns the bin of x: 0 before the pivot, then one more for each width; the last has the rest, and NaN.
std::size_t bin_of(double x, Parameters const& parameters) {
  auto const last = static_cast<std::size_t>(parameters.bins) - 1;
  if (x < parameters.pivot) return 0;
  double const widths = std::floor((x - parameters.pivot) / parameters.width);
  return widths < static_cast<double>(last - 1) ? static_cast<std::size_t>(widths) + 1 : last;
}

// More than two bins: each part is counted, then moved.
template <class T>
std::vector<ExpectedField> in_bins(Partition::Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.in.extent(0);
  auto const bins = static_cast<std::size_t>(input.parameters.bins);
  MovedElements<T> values("values", {n});
  auto const bin = [&](std::size_t i) { return bin_of(static_cast<double>(input.in(i)), input.parameters); };
  std::vector<std::vector<std::size_t>> places(blocks_in(n, part_elements()), std::vector<std::size_t>(bins));
  for_blocks(n, part_elements(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ++places[part][bin(i)];
  });
  std::vector<double> ends;
  std::size_t all = 0;
  for (std::size_t b = 0; b < bins; ++b) {
    for (auto& of_part : places) all += std::exchange(of_part[b], all);  // now: where the part's items of the bin go
    if (b + 1 < bins) ends.push_back(static_cast<double>(all));
  }
  for_blocks(n, part_elements(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) values.set(places[part][bin(i)]++, input.in(i));
  });
  return list_of(values.take(), ExpectedField{.name = "left_count", .shape = {bins - 1}, .value = ends, .scale = {}});
}

}  // namespace

template <class T>
std::vector<ExpectedField> Partition::reference(Input<T, Kokkos::HostSpace> const& input) {
  if (input.parameters.bins != 2) return in_bins<T>(input);
  std::size_t const n = input.in.extent(0);
  std::size_t const segments = input.parameters.segments(n);
  std::size_t const length = input.parameters.segment == 0 ? n : input.parameters.segment;
  double const pivot = input.parameters.pivot;
  T const* const in = input.in.data();
  MovedElements<T> values("values", {n});
  ExpectedField counts{.name = "left_count", .shape = {segments}, .value = std::vector<double>(segments), .scale = {}};
  auto const is_left = [&](std::size_t i) { return static_cast<double>(in[i]) < pivot; };
  auto const lefts_in = [&](std::size_t begin, std::size_t end) {
    std::size_t lefts = 0;
    for (std::size_t i = begin; i < end; ++i) lefts += is_left(i) ? 1 : 0;
    return lefts;
  };
  // Moves the elements [begin, end) to the places from `left` and `right` on (from `right` backwards, if the right side
  // is reversed). There is no branch, because no processor could predict it.
  std::size_t const step = input.parameters.reversed ? static_cast<std::size_t>(-1) : 1;
  auto const move = [&](std::size_t begin, std::size_t end, std::size_t left, std::size_t right) {
    for (std::size_t i = begin; i < end; ++i) {
      bool const goes_left = is_left(i);
      values.set(goes_left ? left : right, in[i]);
      left += goes_left ? 1 : 0;
      right += goes_left ? 0 : step;
    }
  };
  auto const end_of = [&](std::size_t begin) { return n - begin < length ? n : begin + length; };
  // Returns the place of the right element number `k` of a segment with `lefts` left elements.
  auto const right_place = [&](std::size_t begin, std::size_t lefts, std::size_t k) {
    return input.parameters.reversed ? end_of(begin) - 1 - k : begin + lefts + k;
  };
  // Each part is a serial loop, and several run in parallel: some short segments, or some elements of a long segment.
  if (length <= part_elements()) {
    std::size_t const together = part_elements() / std::max<std::size_t>(1, length);
    for_blocks(segments, together, [&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t s = first; s < last; ++s) {
        std::size_t const begin = s * length;
        std::size_t const lefts = lefts_in(begin, end_of(begin));
        counts.value[s] = static_cast<double>(lefts);
        move(begin, end_of(begin), begin, right_place(begin, lefts, 0));
      }
    });
    return list_of(values.take(), std::move(counts));
  }
  for (std::size_t s = 0; s < segments; ++s) {
    std::size_t const begin = s * length;
    std::size_t const count = end_of(begin) - begin;
    std::vector<std::size_t> lefts(blocks_in(count, part_elements()));
    for_blocks(count, part_elements(), [&](std::size_t part, std::size_t from, std::size_t to) {
      lefts[part] = lefts_in(begin + from, begin + to);
    });
    std::size_t all = 0;
    for (std::size_t& of_part : lefts) all += std::exchange(of_part, all);  // now: lefts before the part
    counts.value[s] = static_cast<double>(all);
    for_blocks(count, part_elements(), [&](std::size_t part, std::size_t from, std::size_t to) {
      move(begin + from, begin + to, begin + lefts[part], right_place(begin, all, from - lefts[part]));
    });
  }
  return list_of(values.take(), std::move(counts));
}

// Each rank counts its own elements of each segment. It needs only the values of its own places: the k-th left or the
// k-th right element of a segment. Ranks send each other these elements with their places. Each part is a serial loop,
// and several run in parallel.
template <class T>
std::vector<ExpectedField> Partition::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                        ranks::Part const& part) {
  struct Moved {
    std::size_t to;
    double value;
  };
  std::size_t const n = part.input[0][0];
  // More than two bins are counted as segments are: each rank needs the number of elements of each.
  bool const is_binned = input.parameters.bins != 2;
  std::size_t const segments =
      is_binned ? static_cast<std::size_t>(input.parameters.bins) : input.parameters.segments(n);
  std::size_t const length = input.parameters.segment == 0 ? n : input.parameters.segment;
  ranks::Block const own = part.ranks.block(n);
  std::size_t const parts = blocks_in(own.size(), part_elements());
  auto const is_left = [&](std::size_t i) { return static_cast<double>(input.in(i)) < input.parameters.pivot; };

  auto const bin = [&](std::size_t i) { return bin_of(static_cast<double>(input.in(i)), input.parameters); };

  // Counts on this rank, on the previous ranks and on all ranks: of the left elements of each segment or, with bins, of
  // the elements of each bin. Those of the parts: lefts of any segment, or of each bin.
  std::vector<std::int64_t> lefts(segments);
  std::vector<std::vector<std::int64_t>> of_parts(parts, std::vector<std::int64_t>(is_binned ? segments : 1));
  for_blocks(own.size(), part_elements(), [&](std::size_t index, std::size_t begin, std::size_t end) {
    std::vector<std::int64_t>& counts = of_parts[index];
    if (is_binned) {
      for (std::size_t i = begin; i < end; ++i) ++counts[bin(i)];
      return;
    }
    for (std::size_t i = begin; i < end;) {
      std::size_t const segment = (own.begin + i) / length;
      std::size_t const rest = n - segment * length;  // of the segment and all behind it
      std::size_t const stop = std::min(end, n - rest + std::min(rest, length) - own.begin);
      std::int64_t of_segment = 0;
      for (; i < stop; ++i) of_segment += is_left(i) ? 1 : 0;
      counts[0] += of_segment;
      std::atomic_ref<std::int64_t>(lefts[segment]) += of_segment;  // another part may have elements of the segment
    }
  });
  // Counts of parts become counts before them.
  std::vector<std::int64_t> so_far(is_binned ? segments : 1);
  for (std::vector<std::int64_t>& counts : of_parts) {
    for (std::size_t b = 0; b < counts.size(); ++b) so_far[b] += std::exchange(counts[b], so_far[b]);
  }
  if (is_binned) lefts = so_far;
  std::vector<std::int64_t> before(segments);
  std::vector<std::int64_t> total(segments);
  std::vector<std::vector<std::int64_t>> const all = part.ranks.all_gather(lefts);
  for (std::size_t r = 0; r < all.size(); ++r) {
    for (std::size_t s = 0; s < segments; ++s) {
      if (r < static_cast<std::size_t>(part.ranks.rank())) before[s] += all[r][s];
      total[s] += all[r][s];
    }
  }

  if (is_binned) {
    // The total of each bin becomes its end, and the elements before this rank's become places.
    std::int64_t end = 0;
    for (std::size_t b = 0; b < segments; ++b) {
      before[b] += end;
      end += total[b];
      total[b] = end;
    }
    total.pop_back();  // the end of the last bin is n
  } else {
    // Now: to be added to the lefts before an element on this rank, for the lefts before it in its segment.
    std::int64_t on_this_rank = 0;
    for (std::size_t s = 0; s < segments; ++s) before[s] -= std::exchange(on_this_rank, on_this_rank + lefts[s]);
  }

  // Calls `give(to, i)` with the place of each element of a part.
  auto const place_part = [&](std::size_t index, std::size_t from, std::size_t until, auto const& give) {
    std::vector<std::int64_t> counts = of_parts[index];
    for (std::size_t i = from; i < until; ++i) {
      if (is_binned) {
        std::size_t const b = bin(i);
        give(static_cast<std::size_t>(before[b] + counts[b]++), i);
        continue;
      }
      std::size_t const s = (own.begin + i) / length;
      // The number of left elements before this one in its segment is known; the other elements before it are right.
      auto const lefts_before = static_cast<std::size_t>(before[s] + counts[0]);
      std::size_t const begin = s * length;
      std::size_t const rights_before = own.begin + i - begin - lefts_before;
      std::size_t const first_right = begin + static_cast<std::size_t>(total[s]);
      std::size_t const last = std::min(n - begin, length) + begin - 1;
      std::size_t const right = input.parameters.reversed ? last - rights_before : first_right + rights_before;
      bool const goes_left = is_left(i);
      give(goes_left ? begin + lefts_before : right, i);
      counts[0] += goes_left ? 1 : 0;
    }
  };
  auto const for_parts = [&](auto const& body) { for_blocks(own.size(), part_elements(), body); };
  auto const count = static_cast<std::size_t>(part.ranks.count());
  auto const owner = [&](std::size_t to) {
    return static_cast<std::size_t>(ranks::owner_of(to, n, part.ranks.count()));
  };
  // How many elements of each part go to each rank; then where they begin among all that go there.
  std::vector<std::vector<std::size_t>> begins(parts, std::vector<std::size_t>(count));
  for_parts([&](std::size_t index, std::size_t from, std::size_t until) {
    place_part(index, from, until, [&](std::size_t to, std::size_t) { ++begins[index][owner(to)]; });
  });
  std::vector<std::size_t> lengths(count);
  for (std::vector<std::size_t>& of_part : begins) {
    for (std::size_t r = 0; r < count; ++r) lengths[r] += std::exchange(of_part[r], lengths[r]);
  }
  std::vector<std::vector<std::size_t>> const lengths_of_all = part.ranks.all_gather(lengths);
  std::vector<std::unique_ptr<Moved[]>> given(count);
  std::vector<std::unique_ptr<Moved[]>> got(count);
  std::vector<std::size_t> got_lengths(count);
  for (std::size_t r = 0; r < count; ++r) {
    got_lengths[r] = lengths_of_all[r][static_cast<std::size_t>(part.ranks.rank())];
    given[r] = std::make_unique_for_overwrite<Moved[]>(lengths[r]);
    got[r] = std::make_unique_for_overwrite<Moved[]>(got_lengths[r]);
  }
  for_parts([&](std::size_t index, std::size_t from, std::size_t until) {
    place_part(index, from, until, [&](std::size_t to, std::size_t i) {
      std::size_t const r = owner(to);
      given[r][begins[index][r]++] = {to, static_cast<double>(input.in(i))};
    });
  });
  std::vector<ranks::Message> sent;
  std::vector<ranks::Message> received;
  for (std::size_t r = 0; r < count; ++r) {
    auto const rank = static_cast<int>(r);
    sent.push_back({rank, given[r].get(), lengths[r] * sizeof(Moved)});
    received.push_back({rank, got[r].get(), got_lengths[r] * sizeof(Moved)});
  }
  part.ranks.exchange(sent, received);

  ExpectedField values{.name = "values", .shape = {own.size()}, .value = std::vector<double>(own.size()), .scale = {}};
  for (std::size_t r = 0; r < count; ++r) {
    for_blocks(got_lengths[r], part_elements(), [&](std::size_t, std::size_t from, std::size_t until) {
      for (std::size_t i = from; i < until; ++i) values.value.at(got[r][i].to - own.begin) = got[r][i].value;
    });
  }
  ExpectedField counts{.name = "left_count",
                       .shape = {total.size()},
                       .value = std::vector<double>(total.begin(), total.end()),
                       .scale = {}};
  return list_of(std::move(values), std::move(counts));
}

}  // namespace tessera::partition

template struct tessera::References<tessera::partition::Partition>;
