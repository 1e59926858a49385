#include <tessera/kernels/gemm.hpp>

#include "../kernels.hpp"
#include "../runtime.hpp"

namespace tessera::python {

void matmul(Array const& a, Array const& b, Array const& out) {
  with_type_of(a, Numbers{}, [&]<class T>() {
    on_space_of(a, [&]<class Exec>(Exec const& exec) {
      std::size_t const m = a.shape[0];
      std::size_t const n = b.shape[1];
      std::size_t const k = a.shape[1];
      using Gemm = kernels::Gemm<Exec, T>;
      auto& gemm = kept_from<Gemm>(exec, {m, n, k}, [&] {
        return std::make_shared<Gemm>(exec, m, n, k, 0, "tessera::gemm", kernels::SplitK::where_it_helps);
      });
      gemm(exec, view_of<T const**, Exec>(a), view_of<T const**, Exec>(b), view_of<T**, Exec>(out));
    });
  });
}

}  // namespace tessera::python
