/// \file
/// One element per index. Each computes its counter's four words and keeps one, so a counter is computed four times.

#include <cstdint>

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::random {

struct PerElement {
  static constexpr VariantInfo info{.name = "per_element",
                                    .level = Level::range,
                                    .summary = "one element per index, the baseline: each computes four words",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  static void run(Exec const& exec, ArrayOn<T*, Exec> const& out, Parameters const& parameters) {
    with_elements<T>(parameters, [&](auto const& words, auto const& distribution) {
      fill(exec, words, distribution, parameters.offset, out);
    });
  }

  // A separate function, because nvcc accepts no device lambda inside a generic lambda.
  template <class Exec, class Words, class Distribution, class Out>
  static void fill(Exec const& exec, Words const& words, Distribution const& distribution, std::uint64_t offset,
                   Out const& out) {
    Kokkos::parallel_for(
        "tessera::random::per_element::fill", over(exec, out.extent(0)),
        KOKKOS_LAMBDA(std::size_t i) { out(i) = distribution.at(words, offset + i); });
  }
};

VariantRows per_element() { return rows<Random, PerElement>(); }

}  // namespace tessera::random
