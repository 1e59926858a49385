#pragma once
/// \file
/// From Python objects to Arrays and back. Nothing is copied: what a kernel cannot use is an error in our words.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "array.hpp"

namespace tessera::python {

struct ExchangeTable;
struct Package;

/// How to treat objects of one type. What it points to is never destroyed.
struct Library {
  ExchangeTable const* table = nullptr;  ///< DLPack's C functions; nullptr: none of version 1
  Package const* package = nullptr;      ///< of PyTorch, NumPy or CuPy, if the type or a base of it is of one of these
  bool is_tensor = false;  ///< PyTorch's own Tensor: a class that is derived makes results of its own type
  bool is_jax = false;
  bool has_mask = false;  ///< of NumPy's masked arrays
};

/// An array of the caller.
struct Argument {
  Array array;
  nanobind::object object;  ///< what the caller gave, or what the call returns
  Library library = {};
  std::shared_ptr<void> keep = {};  ///< keeps the memory alive, also of an exported temporary
  bool is_writable = false;
  bool is_new = false;      ///< whether the call has made it
  bool is_current = false;  ///< whether its library, PyTorch or CuPy, allocates and works on the call's stream now

  [[nodiscard]] Shape const& shape() const { return array.shape; }
  [[nodiscard]] std::size_t rank() const { return array.shape.size(); }
};

/// Returns the array of an argument, by the buffer protocol, DLPack or __cuda_array_interface__. Throws WrongType if it
/// is no array or has a dtype that no kernel has, and std::invalid_argument if it is not contiguous, in C order and
/// aligned. A call with `stream` runs there: see stream_of(). The array's library orders the work that it has enqueued
/// before this stream, or before the default stream of the GPU.
[[nodiscard]] Argument input(std::string const& name, nanobind::handle object,
                             nanobind::handle stream = nanobind::none());

/// As above, for the other arguments of a call: `first` has its stream.
[[nodiscard]] Argument input(std::string const& name, nanobind::handle object, Argument const& first);

/// Returns the array for a result: `out` if it is not None, otherwise a new one of the same library and on the same
/// device as `like`. Throws WrongType or std::invalid_argument if `out` has another dtype, shape or device, is
/// read-only, not contiguous, or overlaps one of `inputs`. It may be the array `in_place`, which need not be one of
/// them.
[[nodiscard]] Argument result(nanobind::handle out, Argument const& like, DType dtype, Shape const& shape,
                              std::initializer_list<Argument const*> inputs, Argument const* in_place = nullptr);

/// Returns what a call returns for a result: its object. Waits for the stream of the call if the call has made an array
/// of JAX, because JAX orders its work behind no stream.
[[nodiscard]] nanobind::object returned(Argument const& argument);

/// Returns the stream of a call: None, a pointer as an integer, or an object of CUDA Python, PyTorch or CuPy. Throws
/// WrongType for others.
[[nodiscard]] std::optional<std::uintptr_t> stream_of(nanobind::handle stream);

/// Throws std::invalid_argument unless the array has this rank. `what`: its dimensions, such as "[rows, cols]".
void require_rank(Argument const& argument, std::size_t rank, std::string_view what);

/// Throws std::invalid_argument unless both are on one device.
void require_one_device(Argument const& first, Argument const& other);

/// Throws WrongType or std::invalid_argument unless both have one dtype and are on one device.
void require_alike(Argument const& first, Argument const& other);

/// Throws std::invalid_argument unless the shape is this one. `why`: what decides it.
void require_shape(Argument const& argument, Shape const& shape, std::string_view why);

/// For sums. Throws WrongType if `dtype` is given and is not that of x, or if it is None and x has int32: its sums wrap
/// here, and have more bits in NumPy. The kernel refuses dtypes that it does not have.
void require_sum_dtype(Argument const& x, nanobind::handle dtype);

}  // namespace tessera::python
