#pragma once
/// \file
/// Softmax of columns in one launch or two, with the kernel of one's choice.

#include <cstddef>
#include <cstdint>
#include <string>

#include "column_lanes.hpp"
#include "column_loops.hpp"

#include <tessera/kernels/team_shape.hpp>

namespace tessera::softmax {

/// \tparam Kernel ColumnLanes or ColumnLoops
template <class Exec, class T, class Kernel>
class ChunkedColumns {
 public:
  ChunkedColumns(Exec const& exec, std::size_t rows, std::size_t cols, std::int64_t team)
      : threads_(kernels::team_size(exec, team)),
        kernel_(Kernel::shape(exec, threads_, rows, cols)),
        partial_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::softmax::columns::partial"),
                 kernel_.chunks.count == 1 ? 0 : static_cast<std::size_t>(kernel_.chunks.count) * cols) {}

  void operator()(Exec const& exec, T const* x, T* y) const {
    if (kernel_.chunks.n == 0 || kernel_.cols == 0) return;
    Kernel kernel = kernel_;
    kernel.x = x;
    kernel.y = y;
    kernel.partial = partial_.data();
    if (kernel.chunks.count == 1) {
      kernel.step = ColumnStep::both;
      return kernel.enqueue(exec, "tessera::softmax::columns::both", threads_);
    }
    kernel.step = ColumnStep::sums;
    kernel.enqueue(exec, "tessera::softmax::columns::sums", threads_);
    kernel.step = ColumnStep::write;
    kernel.enqueue(exec, "tessera::softmax::columns::write", threads_);
  }

  [[nodiscard]] double rounding_steps() const { return kernel_.rounding_steps(); }
  [[nodiscard]] std::string note() const {
    int const chunks = kernel_.chunks.count;
    return std::to_string(chunks) + (chunks == 1 ? " chunk of rows: 1 launch" : " chunks of rows: 2 launches");
  }

 private:
  int threads_;
  Kernel kernel_;
  Kokkos::View<collective::OnlineSum<T>*, typename Exec::memory_space> partial_;
};

}  // namespace tessera::softmax
