#pragma once
/// \file
/// What kernels have in common that make an array of another one, element for element.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/views.hpp>

namespace tessera::kernels {

/// Base of such a kernel object: its call on Views. `Kernel` derives from it, and has a member `enqueue(exec, in, out)`
/// on pointers, which is called where there is an element.
template <class Kernel, ExecutionSpace Exec, class T>
class ArrayKernel {
 public:
  /// Enqueues the kernel on `in` [n] and `out` [n], consecutive elements that do not overlap. Throws
  /// std::invalid_argument if one has another length or a stride.
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

/// Base of the Tunings of kernels whose threads take parts of an array, each into the registers of its lanes.
template <ExecutionSpace Exec>
struct PartsTuning {
  /// Parts that a team takes: on a GPU one a thread; on a host enough that a team is worth starting.
  [[nodiscard]] static constexpr int parts(int threads) { return is_gpu<Exec> ? threads : 32; }
};

}  // namespace tessera::kernels
