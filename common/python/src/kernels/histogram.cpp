#include <bit>

#include <tessera/kernels/histogram.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void histogram(Array const& x, double lo, double hi, Array const& counts, Array const& outside) {
  with_type_of(x, Numbers{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      using Histogram = kernels::ScratchHistogram<Exec, T>;
      std::size_t const bins = counts.count();
      auto& histogram = kept_from<Histogram>(
          exec, {x.count(), bins, std::bit_cast<std::uint64_t>(lo), std::bit_cast<std::uint64_t>(hi)}, [&] {
            return std::make_shared<Histogram>(exec, x.count(),
                                               kernels::EqualBins<T>(lo, hi, static_cast<std::int64_t>(bins)));
          });
      histogram(exec, view_of<T const*, Exec>(x), view_of<std::int64_t*, Exec>(counts),
                view_of<std::int64_t, Exec>(outside));
    });
  });
}

}  // namespace tessera::python
