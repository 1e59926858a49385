#include <tessera/kernels/scan.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void cumulative_sum_rows(Array const& x, Array const& out) {
  with_type_of(x, Floats{}, [&]<class T>() {
    on_space_of(x, [&]<class Exec>(Exec const& exec) {
      using Rows = collective::SegmentedOperator<T, collective::Sum<T>>;
      using Scan = kernels::LookBackScan<Exec, T, Rows>;
      if (x.count() == 0) return;
      std::size_t const cols = x.shape.back();
      auto& scan = kept_from<Scan>(exec, {x.count(), cols}, [&] {
        return std::make_shared<Scan>(exec, x.count(), kernels::ScanElements<T, Rows>{.segment = cols});
      });
      scan(exec, view_of<T const*, Exec>(x), view_of<T*, Exec>(out));
    });
  });
}

}  // namespace tessera::python
