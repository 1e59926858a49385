#include "arguments.hpp"

#include <nanobind/stl/string.h>

#include <optional>
#include <string_view>

namespace nb = nanobind;

namespace tessera::python {

namespace {

[[nodiscard]] std::string full_name_of(nb::handle object) {
  nb::handle const type = object.type();
  auto const module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  auto const name = nb::cast<std::string>(nb::str(type.attr("__qualname__")));
  return module == "builtins" ? name : module + "." + name;
}

struct Kind {
  std::optional<DType> dtype;
  std::string name;
};

/// The dtype as Tessera has it, if it has it, and its name.
[[nodiscard]] Kind kind_of(nb::dlpack::dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  auto const is = [&](Code code, int bits) {
    return dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits;
  };
  std::string const bits = std::to_string(dtype.bits);
  if (dtype.lanes != 1) return {std::nullopt, "a vector type"};
  if (is(Code::Float, 32)) return {DType::float32, "float32"};
  if (is(Code::Float, 64)) return {DType::float64, "float64"};
  if (is(Code::Int, 32)) return {DType::int32, "int32"};
  if (is(Code::Int, 64)) return {DType::int64, "int64"};
  if (is(Code::UInt, 32)) return {DType::uint32, "uint32"};
  if (is(Code::UInt, 64)) return {DType::uint64, "uint64"};
  if (is(Code::Float, 16)) return {DType::float16, "float16"};
  if (is(Code::Bfloat, 16)) return {DType::bfloat16, "bfloat16"};
  switch (static_cast<Code>(dtype.code)) {
    case Code::Int: return {std::nullopt, "int" + bits};
    case Code::UInt: return {std::nullopt, "uint" + bits};
    case Code::Float: return {std::nullopt, "float" + bits};
    case Code::Complex: return {std::nullopt, "complex" + bits};
    case Code::Bool: return {std::nullopt, "bool"};
    default: return {std::nullopt, "of an unknown kind"};
  }
}

void set_place(Array& array, nb::ndarray<nb::ro> const& view) {
  array.device = view.device_id();
  switch (view.device_type()) {
    case nb::device::cpu::value:
    case nb::device::cuda_host::value:
    case nb::device::rocm_host::value:
      array.memory = Memory::host;
      array.device = 0;  // the host is one device, also for pinned memory
      return;
    case nb::device::cuda::value:
    case nb::device::cuda_managed::value: array.memory = Memory::cuda; return;
    case nb::device::rocm::value: array.memory = Memory::hip; return;
    default:
      throw std::invalid_argument(array.name + " is on a device of DLPack's type " +
                                  std::to_string(view.device_type()) +
                                  " (Tessera knows the host, CUDA and ROCm); copy it to the host");
  }
}

void require_contiguous(Array const& array, nb::ndarray<nb::ro> const& view) {
  if (array.count() == 0) return;
  std::int64_t expected = 1;
  bool fits = true;
  std::string strides;
  for (std::size_t i = view.ndim(); i-- > 0;) {
    fits = fits && (view.shape(i) == 1 || view.stride(i) == expected);
    expected *= static_cast<std::int64_t>(view.shape(i));
    strides = std::to_string(view.stride(i)) + (strides.empty() ? "" : ", ") + strides;
  }
  if (!fits) {
    throw std::invalid_argument(array.name + " of shape " + to_string(array.shape) + " has strides of [" + strides +
                                "] elements (this function reads consecutive elements in C order); copy it first");
  }
}

/// Reads what an object exports.
[[nodiscard]] Argument import(std::string const& name, nb::handle object) {
  Argument argument{.array = {.name = name, .shape = {}}, .object = nb::borrow(object)};
  if (!nb::try_cast(object, argument.keep)) {
    bool const exports = nb::hasattr(object, "__dlpack__") || PyObject_CheckBuffer(object.ptr()) != 0;
    throw WrongType(name + " is a " + full_name_of(object) +
                    (exports ? " that cannot be shared (its elements or strides have no name in DLPack, or its library "
                               "refuses); convert it first"
                             : " (no array: it has neither DLPack nor the buffer protocol); give an array"));
  }
  if (nb::cast<bool>(nb::bool_(nb::getattr(object, "requires_grad", nb::bool_(false))))) {
    throw WrongType(name + " requires a gradient (Tessera's functions have none); detach it first");
  }
  auto const& view = argument.keep;
  Array& array = argument.array;
  array.data = const_cast<void*>(view.data());
  for (std::size_t i = 0; i < view.ndim(); ++i) array.shape.push_back(view.shape(i));
  set_place(array, view);
  Kind const kind = kind_of(view.dtype());
  if (!kind.dtype) {
    throw WrongType(name + " has dtype " + kind.name + " (Tessera has no kernels for it); convert it first");
  }
  array.dtype = *kind.dtype;
  require_contiguous(array, view);
  if (array.count() > 0 && reinterpret_cast<std::uintptr_t>(array.data) % size_of(array.dtype) != 0) {
    throw std::invalid_argument(name + " is not aligned to its elements (kernels load whole elements); copy it first");
  }
  return argument;
}

[[nodiscard]] nb::tuple tuple_of(Shape const& shape) {
  nb::list list;
  for (std::size_t const extent : shape) list.append(extent);
  return nb::tuple(list);
}

/// A new array of the library that `like` comes from, not filled, on the same device.
[[nodiscard]] nb::object make(Argument const& like, DType dtype, Shape const& shape) {
  std::string const name = numpy_name(dtype);
  for (nb::handle const base : like.object.type().attr("__mro__")) {
    auto const module = nb::cast<std::string>(nb::str(base.attr("__module__")));
    std::string const library = module.substr(0, module.find('.'));
    if (library == "torch") {
      nb::object const torch = nb::module_::import_("torch");
      return torch.attr("empty")(tuple_of(shape), nb::arg("dtype") = torch.attr(name.c_str()),
                                 nb::arg("device") = like.object.attr("device"));
    }
    if (library == "numpy" || library == "cupy") {
      return nb::module_::import_(library.c_str()).attr("empty")(tuple_of(shape), name.c_str());
    }
  }
  if (nb::hasattr(like.object, "__array_namespace__")) {
    nb::object const library = like.object.attr("__array_namespace__")();
    return library.attr("empty")(tuple_of(shape), nb::arg("dtype") = library.attr(name.c_str()),
                                 nb::arg("device") = like.object.attr("device"));
  }
  throw WrongType(like.array.name + " is a " + full_name_of(like.object) +
                  " (Tessera cannot make a result of that type); give out=");
}

void require_writable(Argument const& argument) {
  nb::ndarray<> writable;
  if (nb::try_cast(argument.object, writable)) return;
  throw std::invalid_argument(argument.array.name +
                              " is read-only (the result is written into it); give an array that can "
                              "be written");
}

void require_apart(Argument const& out, Argument const& in, bool may_be_same) {
  auto const* const to = static_cast<char const*>(out.array.data);
  auto const* const from = static_cast<char const*>(in.array.data);
  std::size_t const written = out.array.bytes();
  std::size_t const read = in.array.bytes();
  if (written == 0 || read == 0 || from >= to + written || to >= from + read) return;
  if (may_be_same && from == to && read == written) return;
  throw std::invalid_argument(out.array.name + " overlaps " + in.array.name +
                              " (elements are read after others were written); give the result memory of its own");
}

}  // namespace

Argument input(std::string const& name, nb::handle object) { return import(name, object); }

Argument result(nb::handle out, Argument const& like, DType dtype, Shape const& shape,
                std::initializer_list<Argument const*> inputs, Argument const* in_place) {
  Argument argument = out.is_none() ? import("the new result", make(like, dtype, shape)) : import("out", out);
  if (argument.array.dtype != dtype) {
    throw WrongType(argument.array.name + " has dtype " + numpy_name(argument.array.dtype) + " (the result is " +
                    numpy_name(dtype) + "); give such an array");
  }
  require_shape(argument, shape, "the result has it");
  require_one_device(like, argument);
  require_writable(argument);
  for (Argument const* const in : inputs) require_apart(argument, *in, false);
  if (in_place != nullptr) require_apart(argument, *in_place, true);
  return argument;
}

void require_rank(Argument const& argument, std::size_t rank, std::string const& what) {
  if (argument.rank() == rank) return;
  throw std::invalid_argument(argument.array.name + " has shape " + to_string(argument.shape()) +
                              " (this function takes " + what + "); reshape it");
}

void require_one_device(Argument const& first, Argument const& other) {
  if (first.array.memory == other.array.memory && first.array.device == other.array.device) return;
  throw std::invalid_argument(other.array.name + " is on " + place_of(other.array) + " (" + first.array.name +
                              " is on " + place_of(first.array) + "); copy one of them first");
}

void require_alike(Argument const& first, Argument const& other) {
  if (first.array.dtype != other.array.dtype) {
    throw WrongType(other.array.name + " has dtype " + numpy_name(other.array.dtype) + " (" + first.array.name +
                    " has " + numpy_name(first.array.dtype) + "); convert one of them first");
  }
  require_one_device(first, other);
}

void require_shape(Argument const& argument, Shape const& shape, std::string const& why) {
  if (argument.shape() == shape) return;
  throw std::invalid_argument(argument.array.name + " has shape " + to_string(argument.shape()) + ", not " +
                              to_string(shape) + " (" + why + "); give such an array");
}

void require_sum_dtype(Argument const& x, nb::handle dtype) {
  std::string const own = numpy_name(x.array.dtype);
  if (dtype.is_none()) {
    if (x.array.dtype == DType::float32 || x.array.dtype == DType::float64) return;
    throw WrongType(x.array.name + " has dtype " + own +
                    " (its sums have as many bits and wrap, others' have 64); give "
                    "dtype=\"" +
                    own + "\" if they may wrap, or convert it first");
  }
  nb::object name = nb::borrow(dtype);
  for (char const* const attribute : {"name", "__name__"}) {
    if (nb::isinstance<nb::str>(dtype) || !nb::hasattr(dtype, attribute)) continue;
    name = dtype.attr(attribute);
    break;
  }
  auto text = nb::cast<std::string>(nb::str(name));
  text = text.substr(text.rfind('.') + 1);  // torch.float32
  if (text == own) return;
  throw WrongType("dtype is " + text + " (" + x.array.name + " has " + own +
                  ", and nothing is converted silently); "
                  "convert it first");
}

}  // namespace tessera::python
