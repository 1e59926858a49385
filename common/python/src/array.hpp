#pragma once
/// \file
/// Arrays and errors between Python and kernels: no Python and no Kokkos, so that what talks to Python compiles without
/// a kernel, and a kernel without Python.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include <tessera/core/types.hpp>

namespace tessera::python {

/// A wrong dtype or type: Python's TypeError. Wrong values, extents and strides are std::invalid_argument: Python's
/// ValueError.
class WrongType : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Memory : std::uint8_t { host, cuda, hip };

/// A stream of the caller.
struct Stream {
  std::uintptr_t address;  ///< CUDA's or HIP's handle
  std::uint64_t number;    ///< of no other stream of this process, also if the address comes back
};

/// A contiguous array in C order that Python owns. Who calls a kernel keeps it alive until the kernel has ended.
struct Array {
  std::string name;  ///< the parameter, for messages
  void* data = nullptr;
  DType dtype = DType::float32;
  Memory memory = Memory::host;
  int device = 0;  ///< number of the GPU
  Shape shape;
  /// The caller's stream on that GPU. A call enqueues there and does not wait. Without it a call waits.
  std::optional<Stream> stream = {};

  [[nodiscard]] std::size_t count() const { return count_of(shape); }
  [[nodiscard]] std::size_t bytes() const { return count() * size_of(dtype); }
};

/// Returns "float32", "float64", "int32" and so on, as NumPy and PyTorch say.
[[nodiscard]] inline std::string numpy_name(DType dtype) {
  if (dtype == DType::float32) return "float32";
  if (dtype == DType::float64) return "float64";
  if (dtype == DType::float16) return "float16";
  return std::string(name_of(dtype));
}

/// Returns "the host" or "cuda:0".
[[nodiscard]] inline std::string place_of(Array const& array) {
  if (array.memory == Memory::host) return "the host";
  return (array.memory == Memory::cuda ? "cuda:" : "hip:") + std::to_string(array.device);
}

}  // namespace tessera::python
