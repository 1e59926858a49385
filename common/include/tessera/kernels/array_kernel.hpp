#pragma once
/// \file
/// What kernels have in common that compute one array from another, element for element.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/views.hpp>

namespace tessera::kernels {

/// The base of such a kernel object, which gives it its call on Views. `Kernel` derives from it, and has a member
/// `enqueue(exec, in, out)` on pointers, which is called unless the arrays are empty.
template <class Kernel, ExecutionSpace Exec, class T>
class ArrayKernel {
 public:
  /// Enqueues the kernel on `in` [n] and `out` [n], consecutive elements that do not overlap. Throws
  /// std::invalid_argument if one is strided or has another length.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    T const* const from = contiguous(in, n_);
    T* const to = contiguous(out, n_);
    if (n_ > 0) static_cast<Kernel const&>(*this).enqueue(exec, from, to);
  }

 protected:
  /// \param n elements of both arrays
  /// \param label what Kokkos' tools call the kernel
  ArrayKernel(std::size_t n, std::string label) : n_(n), label_(std::move(label)) {}

  std::size_t n_;
  std::string label_;
};

/// The base of Tunings for kernels in which each thread loads its part of an array into the registers of its lanes.
template <ExecutionSpace Exec>
struct PartsTuning {
  /// How many parts a team takes: on a GPU one for each thread; on a host enough to make a team worth starting.
  [[nodiscard]] static constexpr int parts(int threads) { return is_gpu<Exec> ? threads : 32; }
};

}  // namespace tessera::kernels
