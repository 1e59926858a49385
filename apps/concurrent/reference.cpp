/// \file
/// The serial oracle of concurrent. A chain of steps x -> (a x + b) mod 4093 is one step: the reference composes the
/// constants of each chain, and applies them once. Results are whole numbers, and must be equal: the scales are empty.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::concurrent {

namespace {

constexpr std::uint64_t two_to_32 = std::uint64_t{1} << 32;

struct Line {
  std::uint64_t slope = 1;
  std::uint64_t offset = 0;
};

// Returns the whole chain as one line, from the definition in README.md.
Line line_of_chain(std::uint64_t chain, std::uint64_t kernels) {
  Line line;
  for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) {
    std::uint64_t h = (chain * 40503 + kernel * 2654435761 + 12345) % two_to_32;
    h = (h ^ h / 32768) * 2246822519 % two_to_32;
    h = h ^ h / 8192;
    std::uint64_t const a = 2 + h % 4090;
    std::uint64_t const b = 1 + h / 4096 % 4092;
    line = {a * line.slope % 4093, (a * line.offset + b) % 4093};
  }
  return line;
}

}  // namespace

template <class T>
std::vector<ExpectedField> Concurrent::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.in.extent(0);
  auto const chains = static_cast<std::uint64_t>(input.parameters.chains);
  std::vector<double> out = zeros(n);
  std::uint64_t begin = 0;
  for (std::uint64_t chain = 0; chain < chains; ++chain) {
    // floor((chain + 1) n / chains), without a product that overflows.
    std::uint64_t const end = n / chains * (chain + 1) + n % chains * (chain + 1) / chains;
    auto const [slope, offset] = line_of_chain(chain, static_cast<std::uint64_t>(input.parameters.kernels));
    for_blocks(end - begin, part_elements(),
               [&, slope = slope, offset = offset](std::size_t, std::size_t first, std::size_t last) {
                 for (std::size_t i = begin + first; i < begin + last; ++i) {
                   auto const x = static_cast<double>(input.in(i));
                   std::uint64_t const whole = x >= 0 && x < 4093 ? static_cast<std::uint64_t>(x) : 0;
                   out[i] = static_cast<double>((slope * whole + offset) % 4093);
                 }
               });
    begin = end;
  }
  std::vector<ExpectedField> fields(1);
  fields[0] = {.name = "out", .shape = {n}, .value = std::move(out), .scale = {}};
  return fields;
}

}  // namespace tessera::concurrent

template struct tessera::References<tessera::concurrent::Concurrent>;
