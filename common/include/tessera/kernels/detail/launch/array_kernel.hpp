#pragma once
/// \file
/// The common part of kernels that compute one array from another, element by element.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Base of such a kernel object: provides the call on Views. `Kernel` derives from it and has a member `enqueue(exec,
/// in, out)` on pointers, which is called unless the arrays are empty.
template <class Kernel, ExecutionSpace Exec, class T>
class ArrayKernel {
 public:
  /// Enqueues the kernel on `in` [n] and `out` [n], which must be contiguous. Throws std::invalid_argument if
  /// one is strided or has another length, or if they overlap.
  template <Readable<Exec, T, 1> In, Writable<Exec, T, 1> Out>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    require_apart(out, in);
    T const* const from = contiguous(in, n_);
    T* const to = contiguous(out, n_);
    if (n_ > 0) static_cast<Kernel const&>(*this).enqueue(exec, from, to);
  }

 protected:
  /// \param n elements of both arrays
  /// \param label kernel name that Kokkos Tools reports
  ArrayKernel(std::size_t n, std::string label) : n_(n), label_(std::move(label)) {}

  std::size_t n_;
  std::string label_;
};

/// Base of the Tunings of kernels in which each thread loads its part of an array into its lanes' registers.
template <ExecutionSpace Exec>
struct PartsTuning {
  /// Parts per team: one per thread on a GPU; on a host, enough to amortize the start of a team.
  [[nodiscard]] static constexpr int parts(int threads) { return is_gpu<Exec> ? threads : 32; }
};

}  // namespace tessera::kernels
