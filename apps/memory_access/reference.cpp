/// \file
/// The serial oracle of memory_access: plain loops. Elements are copied, or are whole numbers below 2^16, so results
/// must be equal: the scales are empty.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::memory_access {

namespace {

// Elements of a field are independent: `part` elements are a serial loop, and several loops run in parallel.
constexpr std::size_t part = 1 << 16;

std::uint64_t common_divisor(std::uint64_t a, std::uint64_t b) { return b == 0 ? a : common_divisor(b, a % b); }

// Returns the permutation's step, from its definition (README): the first number from 0.618034 n on that is coprime to
// n. It is independent of the variants' permutation_factor.
std::size_t step_of_permutation(std::uint64_t n) {
  if (n < 2) return 0;  // nothing to permute
  std::uint64_t step = n * 309017 / 500000;
  if (step == 0) step = 1;
  while (common_divisor(n, step) != 1) ++step;
  return static_cast<std::size_t>(step);
}

// Returns the place from which `rounds` rounds take each place of a tile.
std::vector<std::size_t> places_after(std::int64_t rounds, std::size_t count, std::size_t stride) {
  std::vector<std::size_t> places(count);
  for (std::size_t t = 0; t < count; ++t) {
    std::size_t place = t;
    for (std::int64_t round = 0; round < rounds; ++round) {
      std::size_t const walked = place * stride;
      place = (walked + walked / count) % count;
    }
    places[t] = place;
  }
  return places;
}

// Returns the branch that element i takes.
std::uint64_t branch_taken(std::uint32_t i, Parameters const& parameters) {
  std::uint64_t branch = 0;
  switch (parameters.branch) {
    case Branch::lane: branch = i; break;
    case Branch::warp: branch = i / 32; break;
    case Branch::first: branch = i % 32 > 0 ? 1 : 0; break;
    case Branch::quads: branch = i % 8 > 3 ? 1 : 0; break;
    case Branch::element:
    case Branch::nested: {
      std::uint64_t const mixed = std::uint64_t{i} * 2654435761u % (std::uint64_t{1} << 32);
      branch = (mixed ^ mixed / 32768) * 2246822519u % (std::uint64_t{1} << 32) / 65536;
      if (parameters.branch == Branch::nested) branch = std::array{0, 1, 0, 2}.at(branch % 4);
      break;
    }
  }
  return branch % static_cast<std::uint64_t>(parameters.branches);
}

// Returns the number at the end of a branch's chain, modulo 2^32.
std::uint64_t end_of_chain(std::uint64_t number, std::uint64_t branch, std::int64_t iterations) {
  for (std::int64_t k = 0; k < iterations; ++k) number = (number * 1664525 + 2 * branch + 1) % (std::uint64_t{1} << 32);
  return number;
}

// Calls set(i, the number at the end of element i's chain) for n elements. Each step multiplies and adds, so a whole
// chain is also one multiply-add: the ends of the chains from 0 and from 1 give the ends of all chains of a branch.
template <class Set>
void end_chains(std::size_t n, Parameters const& parameters, Set const& set) {
  std::vector<std::uint64_t> from_zero;
  for (std::int64_t branch = 0; branch < parameters.branches; ++branch) {
    from_zero.push_back(end_of_chain(0, static_cast<std::uint64_t>(branch), parameters.iterations));
  }
  std::uint64_t const factor = end_of_chain(1, 0, parameters.iterations) + (std::uint64_t{1} << 32) - from_zero[0];
  for_blocks(n, part, [&](std::size_t, std::size_t begin, std::size_t end_of_part) {
    for (std::size_t i = begin; i < end_of_part; ++i) {
      auto const index = static_cast<std::uint32_t>(i);
      std::uint64_t const end =
          (index * factor + from_zero[branch_taken(index, parameters)]) % (std::uint64_t{1} << 32);
      set(i, static_cast<float>(end / 65536));
    }
  });
}

}  // namespace

template <class T>
std::vector<ExpectedField> MemoryAccess::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.in.extent(0);
  T const* const in = input.in.data();
  // Calls body(i, permutation of i), stepping through the permutation.
  auto const permuted = [&](auto const& body) {
    std::size_t const step = step_of_permutation(n);
    for_blocks(n, part, [&](std::size_t, std::size_t begin, std::size_t end) {
      __extension__ using Wide = unsigned __int128;
      auto position = static_cast<std::size_t>(Wide{begin} * step % n);
      for (std::size_t i = begin; i < end; ++i) {
        body(i, position);
        position = position >= n - step ? position - (n - step) : position + step;
      }
    });
  };

  // Calls write(field) for a new field.
  auto const field = [&](std::string const& name, auto const& write) {
    MovedElements<T> elements(name, {n});
    write(elements);
    return elements.take();
  };
  using Field = MovedElements<T>;
  return list_of(
      field("copied",
            [&](Field& copied) {
              for_blocks(n, part, [&](std::size_t, std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) copied.set(i, in[i]);
              });
            }),
      field("gathered",
            [&](Field& gathered) { permuted([&](std::size_t i, std::size_t from) { gathered.set(i, in[from]); }); }),
      field("scattered",
            [&](Field& scattered) { permuted([&](std::size_t i, std::size_t to) { scattered.set(to, in[i]); }); }),
      field("staged",
            [&](Field& staged) {
              constexpr std::size_t tile = 1024;
              auto const stride = static_cast<std::size_t>(input.parameters.spread);
              static_assert(part % tile == 0);
              for_blocks(n, part, [&](std::size_t, std::size_t first, std::size_t end) {
                std::vector<std::size_t> places;
                for (std::size_t begin = first; begin < end; begin += tile) {
                  std::size_t const count = std::min(tile, end - begin);
                  if (places.size() != count) places = places_after(input.parameters.rounds, count, stride);
                  for (std::size_t t = 0; t < count; ++t) staged.set(begin + t, in[begin + places[t]]);
                }
              });
            }),
      field("diverged", [&](Field& diverged) {
        end_chains(n, input.parameters, [&](std::size_t i, float end) { diverged.set(i, static_cast<T>(end)); });
      }));
}

}  // namespace tessera::memory_access

template struct tessera::References<tessera::memory_access::MemoryAccess>;
