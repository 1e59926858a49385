#include "arguments.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kernels.hpp"

namespace nb = nanobind;

namespace tessera::python {

namespace {

[[nodiscard]] std::string module_of(nb::handle type) { return nb::cast<std::string>(nb::str(type.attr("__module__"))); }

[[nodiscard]] std::string full_name_of(nb::handle object) {
  nb::handle const type = object.type();
  std::string const module_name = module_of(type);
  auto const name = nb::cast<std::string>(nb::str(type.attr("__qualname__")));
  return module_name == "builtins" ? name : module_name + "." + name;
}

/// The name of an attribute, as an object that is made once and never destroyed.
class Name {
 public:
  explicit Name(char const* text) : object_(PyUnicode_InternFromString(text)) {
    if (object_ == nullptr) throw nb::python_error();
  }

  /// Returns the attribute. Throws if there is none.
  [[nodiscard]] nb::object of(nb::handle object) const {
    PyObject* const found = PyObject_GetAttr(object.ptr(), object_);
    if (found == nullptr) throw nb::python_error();
    return nb::steal(found);
  }

  /// Returns the attribute, or nothing.
  [[nodiscard]] nb::object find_in(nb::handle object) const {
    PyObject* const found = PyObject_GetAttr(object.ptr(), object_);
    if (found == nullptr) PyErr_Clear();
    return nb::steal(found);
  }

 private:
  PyObject* object_;
};

}  // namespace

/// DLPack's table of C functions of an array's type, as far as it is used here: dlpack.h, DLPackExchangeAPI.
struct ExchangeTable {
  std::uint32_t major;
  std::uint32_t minor;
  void* previous;
  void* unused[3];  // managed tensors
  int (*export_tensor)(void* object, nb::dlpack::dltensor* tensor);
  int (*current_stream)(std::int32_t device_type, std::int32_t device, void** stream);
};

/// A library of arrays that can make new ones, with what is called for it.
struct Package {
  enum class Kind : std::uint8_t { numpy, cupy, torch };

  Kind kind;
  nb::object module;
  nb::object empty;                       ///< for arrays of one shape and dtype; PyTorch: empty_like
  nb::object empty_on_host = {};          ///< PyTorch's functions that its compiled code calls, in half of the time
  nb::object empty_on_gpu = {};           ///< (or none): of (shape, strides, dtype), on the current device
  nb::object current_stream = {};         ///< CuPy's, of a device (or none)
  std::array<nb::object, 8> dtypes = {};  ///< by DType; none if the library has none of that name
};

namespace {

/// Returns an attribute of a module, or of one in it; none if it is not there.
[[nodiscard]] nb::object find(char const* module, char const* name) {
  try {
    return nb::module_::import_(module).attr(name);
  } catch (nb::python_error const&) {
    return {};
  }
}

[[nodiscard]] Package const* load(std::string const& name) {
  auto& package = *new Package{};  // Python may end first
  package.kind = name == "torch" ? Package::Kind::torch : name == "cupy" ? Package::Kind::cupy : Package::Kind::numpy;
  package.module = nb::module_::import_(name.c_str());
  if (package.kind == Package::Kind::torch) {
    package.empty = package.module.attr("empty_like");
    package.empty_on_host = find("torch._C._dynamo.guards", "_empty_strided_cpu");
    package.empty_on_gpu = find("torch._C._dynamo.guards", "_empty_strided_cuda");
  } else {
    package.empty = package.module.attr("empty");
  }
  if (package.kind == Package::Kind::cupy &&
      !nb::cast<bool>(package.module.attr("cuda").attr("runtime").attr("is_hip"))) {
    package.current_stream = find("cupy.cuda", "get_current_stream");
  }
  for (std::size_t i = 0; i < package.dtypes.size(); ++i) {
    std::string const dtype = numpy_name(static_cast<DType>(i));
    nb::object const found = find(name.c_str(), dtype.c_str());
    bool const is_type = found.is_valid() && package.kind != Package::Kind::torch;
    package.dtypes[i] = is_type ? package.module.attr("dtype")(found) : found;
  }
  return &package;
}

/// Finds out about a type.
[[nodiscard]] Library new_library(nb::handle type) {
  static auto& packages = *new std::map<std::string, Package const*>;
  Library library;
  library.is_jax = module_of(type).starts_with("jax");
  for (nb::handle const base : type.attr("__mro__")) {
    std::string const module_name = module_of(base);
    std::string const name = module_name.substr(0, module_name.find('.'));
    library.has_mask = library.has_mask || module_name.starts_with("numpy.ma");
    if (name != "torch" && name != "numpy" && name != "cupy") continue;
    Package const*& package = packages[name];
    if (package == nullptr) package = load(name);
    library.package = package;
    library.is_tensor = name == "torch" && type.is(package->module.attr("Tensor"));
    break;
  }
  char const* const name = "dlpack_exchange_api";
  nb::object const capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_IsValid(capsule.ptr(), name) != 0) {
    auto const* const table = static_cast<ExchangeTable const*>(PyCapsule_GetPointer(capsule.ptr(), name));
    bool const is_whole = table->export_tensor != nullptr && table->current_stream != nullptr;
    if (table->major == 1 && is_whole) library.table = table;
  }
  return library;
}

/// Returns what is known of the object's type. Python's lock guards what earlier calls have found.
[[nodiscard]] Library library_of(nb::handle object) {
  nb::handle const type = object.type();
  static auto& known = *new std::vector<std::pair<nb::object, Library>>;  // Python may end first
  for (auto const& [one, library] : known) {
    if (one.is(type)) return library;
  }
  Library const library = new_library(type);
  if (known.size() < 16) known.emplace_back(nb::borrow(type), library);
  return library;
}

[[nodiscard]] bool is_of(Library const& library, Package::Kind kind) {
  return library.package != nullptr && library.package->kind == kind;
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

void set_dtype(Array& array, Kind const& kind) {
  if (!kind.dtype) {
    throw WrongType(array.name + " has dtype " + kind.name + " (Tessera has no kernels for it); convert it first");
  }
  array.dtype = *kind.dtype;
}

void set_place(Array& array, int type, int device) {
  array.device = device;
  switch (type) {
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
      throw std::invalid_argument(array.name + " is on a device of DLPack's type " + std::to_string(type) +
                                  " (Tessera knows the host, CUDA and ROCm); copy it to the host");
  }
}

/// `stride(i)`: the distance of neighbours of dimension i, in elements.
template <class Stride>
void require_contiguous(Array const& array, Stride const& stride) {
  if (array.count() == 0) return;
  std::int64_t expected = 1;
  bool fits = true;
  for (std::size_t i = array.shape.size(); i-- > 0;) {
    fits = fits && (array.shape[i] == 1 || stride(i) == expected);
    expected *= static_cast<std::int64_t>(array.shape[i]);
  }
  if (!fits) {
    std::string strides;
    for (std::size_t i = 0; i < array.shape.size(); ++i) strides += (i == 0 ? "" : ", ") + std::to_string(stride(i));
    throw std::invalid_argument(array.name + " of shape " + to_string(array.shape) + " has strides of [" + strides +
                                "] elements (this function reads consecutive elements in C order); copy it first");
  }
}

/// The dtype of a buffer's format, if it is one of Tessera's in the machine's byte order.
[[nodiscard]] std::optional<DType> dtype_of_format(char const* format, Py_ssize_t bytes) {
  constexpr char own_order = std::endian::native == std::endian::little ? '<' : '>';
  if (format == nullptr) return std::nullopt;
  if (*format == '@' || *format == '=' || *format == own_order) ++format;  // as ctypes says
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  switch (format[0]) {
    case 'f': return DType::float32;
    case 'd': return DType::float64;
    case 'i':
    case 'l':
    case 'q': return bytes == 4 ? DType::int32 : DType::int64;
    case 'I':
    case 'L':
    case 'Q': return bytes == 4 ? DType::uint32 : DType::uint64;
    default: return std::nullopt;
  }
}

/// Reads what an object of the buffer protocol exports: NumPy's arrays, in a tenth of the time that DLPack takes.
/// Returns false if it exports no such array; import_dlpack() then says why.
[[nodiscard]] bool import_buffer(Argument& argument, nb::handle object) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  struct Buffer {
    Py_buffer view = {};
    Buffer() = default;
    ~Buffer() { PyBuffer_Release(&view); }  // does nothing if there is none
    Buffer(Buffer const&) = delete;
    Buffer& operator=(Buffer const&) = delete;
  };
  auto const buffer = std::make_shared<Buffer>();
  Py_buffer* const view = &buffer->view;
  if (PyObject_GetBuffer(object.ptr(), view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return false;
  }
  std::optional<DType> const dtype = dtype_of_format(view->format, view->itemsize);
  if (!dtype) return false;
  Array& array = argument.array;
  Py_ssize_t const* const strides = view->strides;  // ctypes has none
  for (int i = 0; i < view->ndim; ++i) {
    if (strides != nullptr && strides[i] % view->itemsize != 0) return false;
    array.shape.push_back(static_cast<std::size_t>(view->shape[i]));
  }
  array.dtype = *dtype;
  array.data = view->buf;
  argument.is_writable = view->readonly == 0;
  if (strides != nullptr) {
    require_contiguous(array, [&](std::size_t i) { return static_cast<std::int64_t>(strides[i] / view->itemsize); });
  }
  argument.keep = buffer;
  return true;
}

[[nodiscard]] bool is_gpu(int device_type) {
  return device_type == nb::device::cuda::value || device_type == nb::device::cuda_managed::value ||
         device_type == nb::device::rocm::value;
}

/// Reads an array by the C functions of its library, PyTorch's for example, in a tenth of the time that __dlpack__
/// takes. `stream`: of the call. Returns false if there are none, or if they refuse the object.
[[nodiscard]] bool import_by_table(Argument& argument, nb::handle object, std::optional<std::uintptr_t> stream) {
  ExchangeTable const* const table = argument.library.table;
  if (table == nullptr) return false;
  nb::dlpack::dltensor tensor;
  if (table->export_tensor(object.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  Array& array = argument.array;
  array.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  array.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  set_place(array, tensor.device.device_type, tensor.device.device_id);
  set_dtype(array, kind_of(tensor.dtype));
  if (tensor.strides != nullptr) require_contiguous(array, [&](std::size_t i) { return tensor.strides[i]; });
  argument.is_writable = !argument.library.is_jax;
  if (!is_gpu(tensor.device.device_type)) return true;
  void* other = nullptr;
  if (table->current_stream(tensor.device.device_type, tensor.device.device_id, &other) != 0) throw nb::python_error();
  order_behind(stream.value_or(default_stream()), reinterpret_cast<std::uintptr_t>(other), array.device);
  bool const is_same = stream == reinterpret_cast<std::uintptr_t>(other);
  argument.is_current = is_same && is_of(argument.library, Package::Kind::torch);
  return true;
}

/// Reads the attributes of an array of CuPy, in a fraction of the time that its __dlpack__ takes. Returns false if it
/// is no such array, or one that import_dlpack() refuses.
[[nodiscard]] bool import_cupy(Argument& argument, nb::handle object, std::optional<std::uintptr_t> stream) {
  if (!is_of(argument.library, Package::Kind::cupy)) return false;
  Package const& cupy = *argument.library.package;
  if (!cupy.current_stream.is_valid()) return false;
  static Name const of_dtype("dtype"), of_contiguous("_c_contiguous"), of_data("data"), of_address("ptr"),
      of_device("device_id"), of_shape("shape");
  Array& array = argument.array;
  nb::object current;
  try {
    nb::object const dtype = of_dtype.of(object);
    auto const known = std::ranges::find_if(cupy.dtypes, [&](nb::object const& one) { return one.is(dtype); });
    if (known == cupy.dtypes.end() || !nb::cast<bool>(of_contiguous.of(object))) return false;
    array.dtype = static_cast<DType>(known - cupy.dtypes.begin());
    nb::object const memory = of_data.of(object);
    array.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(of_address.of(memory)));
    nb::object const device = of_device.of(memory);
    array.device = nb::cast<int>(device);
    array.memory = Memory::cuda;
    for (nb::handle const extent : nb::cast<nb::tuple>(of_shape.of(object))) {
      array.shape.push_back(nb::cast<std::size_t>(extent));
    }
    current = of_address.of(cupy.current_stream(device));
  } catch (std::exception const&) {  // another version of CuPy, whose attributes have other names or types
    array.shape.clear();
    return false;
  }
  argument.is_writable = true;
  auto const other = nb::cast<std::uintptr_t>(current);
  order_behind(stream.value_or(default_stream()), other, array.device);
  argument.is_current = stream == other;
  return true;
}

/// Returns the capsule of an array on a GPU, which its library has ordered before the stream of the call; None for
/// arrays elsewhere, and for what has no DLPack.
[[nodiscard]] nb::object capsule_of(nb::handle object, std::optional<std::uintptr_t> stream) {
  if (!nb::hasattr(object, "__dlpack_device__")) return nb::none();
  int const type = nb::cast<int>(nb::object(object.attr("__dlpack_device__")())[0]);
  if (!is_gpu(type)) return nb::none();
  std::uintptr_t const own = stream.value_or(default_stream());
  require_no_capture(own);  // first: the library lets this stream wait, which ends a capture
  nb::int_ const number(own == 0 ? default_stream() : own);  // CUDA's default stream is 1 here
  nb::object const method = object.attr("__dlpack__");
#if NB_VERSION_MAJOR > 2 || NB_VERSION_MINOR >= 10  // others read no versions, in which read-only arrays say so
  try {
    return method(nb::arg("stream") = number, nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
#endif
  return method(nb::arg("stream") = number);
}

/// Reads what DLPack exports. Returns false if the object has no DLPack, or its library refuses.
[[nodiscard]] bool import_dlpack(Argument& argument, nb::handle object, bool writes,
                                 std::optional<std::uintptr_t> stream) {
  if (import_by_table(argument, object, stream) || import_cupy(argument, object, stream)) return true;
  nb::object exported;
  try {
    exported = capsule_of(object, stream);
  } catch (nb::python_error& error) {  // KeyboardInterrupt and MemoryError are no refusals
    for (PyObject* refusal :
         {PyExc_BufferError, PyExc_TypeError, PyExc_ValueError, PyExc_RuntimeError, PyExc_AttributeError}) {
      if (error.matches(refusal)) return false;
    }
    throw;
  }
  nb::handle const source = exported.is_none() ? object : exported;
  auto const view = std::make_shared<nb::ndarray<nb::ro>>();
  nb::ndarray<> writable;
  if (writes && nb::try_cast(source, writable)) {
    *view = nb::ndarray<nb::ro>(writable);
    argument.is_writable = !argument.library.is_jax;
  } else if (!nb::try_cast(source, *view)) {
    return false;
  }
  Array& array = argument.array;
  array.data = const_cast<void*>(view->data());
  for (std::size_t i = 0; i < view->ndim(); ++i) array.shape.push_back(view->shape(i));
  set_place(array, view->device_type(), view->device_id());
  set_dtype(array, kind_of(view->dtype()));
  require_contiguous(array, [&](std::size_t i) { return view->stride(i); });
  argument.keep = view;
  return true;
}

void require_aligned(Array const& array) {
  if (array.count() == 0 || reinterpret_cast<std::uintptr_t>(array.data) % size_of(array.dtype) == 0) return;
  throw std::invalid_argument(array.name +
                              " is not aligned to its elements (kernels load whole elements); copy it "
                              "first");
}

/// The dtype of an array interface's typestr, such as "<f4".
[[nodiscard]] Kind kind_of_typestr(std::string const& typestr) {
  using Code = nb::dlpack::dtype_code;
  std::map<char, Code> const codes{{'f', Code::Float}, {'i', Code::Int}, {'u', Code::UInt}, {'c', Code::Complex}};
  bool const is_native = !typestr.starts_with('>');
  if (typestr.size() < 3 || !is_native || !codes.contains(typestr[1])) return {std::nullopt, "'" + typestr + "'"};
  auto const bits = static_cast<std::uint8_t>(8 * std::atoi(typestr.c_str() + 2));
  return kind_of({static_cast<std::uint8_t>(codes.at(typestr[1])), bits, 1});
}

/// Reads __cuda_array_interface__, version 2 or 3. Returns false if the object has none.
[[nodiscard]] bool import_cuda_array(Argument& argument, nb::handle object, std::optional<std::uintptr_t> stream) {
  if (!nb::hasattr(object, "__cuda_array_interface__")) return false;
  auto const fields = nb::cast<nb::dict>(object.attr("__cuda_array_interface__"));
  Array& array = argument.array;
  auto const given = [&](char const* name) { return fields.contains(name) && !fields[name].is_none(); };
  if (given("mask")) throw std::invalid_argument(array.name + " has a mask (kernels read all elements); fill it first");
  auto const [address, is_read_only] = nb::cast<std::pair<std::uintptr_t, bool>>(fields["data"]);
  array.data = reinterpret_cast<void*>(address);
  array.memory = Memory::cuda;
  array.shape = nb::cast<Shape>(fields["shape"]);
  set_dtype(array, kind_of_typestr(nb::cast<std::string>(fields["typestr"])));
  argument.is_writable = !is_read_only;
  if (given("strides")) {
    auto const strides = nb::cast<std::vector<std::int64_t>>(fields["strides"]);
    if (strides.size() != array.shape.size()) {
      throw std::invalid_argument(array.name + " has " + std::to_string(strides.size()) + " strides for shape " +
                                  to_string(array.shape) + " (there is one per dimension); give a valid array");
    }
    auto const bytes = static_cast<std::int64_t>(size_of(array.dtype));
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (array.count() == 0 || array.shape[i] == 1 || strides[i] % bytes == 0) continue;
      throw std::invalid_argument(array.name + " has a stride of " + std::to_string(strides[i]) +
                                  " bytes (elements of " + std::to_string(bytes) +
                                  " bytes follow each other here); copy it first");
    }
    require_contiguous(array, [&](std::size_t i) { return strides[i] / bytes; });
  }
  require_aligned(array);
  find_device(array);
  if (given("stream")) {
    order_behind(stream.value_or(default_stream()), nb::cast<std::uintptr_t>(fields["stream"]), array.device);
  }
  return true;
}

[[nodiscard]] bool requires_gradient(Argument const& argument) {
  if (is_of(argument.library, Package::Kind::torch)) {
    static Name const of_gradient("requires_grad");
    return nb::cast<bool>(of_gradient.of(argument.object));
  }
  if (argument.library.package != nullptr) return false;
  return nb::cast<bool>(nb::bool_(nb::getattr(argument.object, "requires_grad", nb::bool_(false))));
}

/// Reads what an object exports. `writes`: it is an output. `stream`: of the call.
[[nodiscard]] Argument import(std::string const& name, nb::handle object, bool writes,
                              std::optional<std::uintptr_t> stream) {
  Argument argument{.array = {.name = name, .shape = {}}, .object = nb::borrow(object), .library = library_of(object)};
  if (import_buffer(argument, object)) {
    if (argument.library.has_mask) {
      throw std::invalid_argument(name +
                                  " is a masked array (kernels read all elements, masked or not); fill it first");
    }
  } else {
    argument.array.shape.clear();
    if (requires_gradient(argument)) {
      throw WrongType(name + " requires a gradient (Tessera's functions have none); detach it first");
    }
    if (!import_dlpack(argument, object, writes, stream) && !import_cuda_array(argument, object, stream)) {
      bool const exports = nb::hasattr(object, "__dlpack__") || PyObject_CheckBuffer(object.ptr()) != 0;
      throw WrongType(name + " is a " + full_name_of(object) +
                      (exports
                           ? " that cannot be shared (its elements or strides have no name in DLPack, or its library "
                             "refuses); convert it first"
                           : " (no array: it has neither DLPack nor the buffer protocol); give an array"));
    }
  }
  require_aligned(argument.array);
  return argument;
}

[[nodiscard]] nb::tuple tuple_of(Shape const& numbers) {
  PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
  if (tuple == nullptr) throw nb::python_error();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), PyLong_FromSize_t(numbers[i]));
  }
  return nb::steal<nb::tuple>(tuple);
}

/// The distances of neighbours in C order, in elements.
[[nodiscard]] Shape strides_of(Shape const& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::size_t>(shape[i], 1);
  return strides;
}

/// A new tensor of PyTorch. PyTorch's own functions take the quicker, the fewer arguments they have to read.
[[nodiscard]] nb::object make_tensor(Argument const& like, DType dtype, Shape const& shape) {
  Package const& torch = *like.library.package;
  nb::object const& type = torch.dtypes[static_cast<std::size_t>(dtype)];
  nb::object const& quick = like.array.memory == Memory::host ? torch.empty_on_host : torch.empty_on_gpu;
  if (like.library.is_tensor && quick.is_valid()) return quick(tuple_of(shape), tuple_of(strides_of(shape)), type);
  if (dtype != like.array.dtype) return like.object.attr("new_empty")(tuple_of(shape), nb::arg("dtype") = type);
  if (shape != like.shape()) return like.object.attr("new_empty")(tuple_of(shape));
  return torch.empty(like.object);
}

/// A new array of the library that `like` comes from, not filled, on the same device.
[[nodiscard]] nb::object make(Argument const& like, DType dtype, Shape const& shape) {
  Library const& known = like.library;
  if (known.package != nullptr) {
    std::optional<CallersDevice> callers;  // CuPy allocates on the current one, and PyTorch's quick functions
    if (like.array.memory != Memory::host) callers.emplace().enter(like.array.device);
    if (known.package->kind == Package::Kind::torch) return make_tensor(like, dtype, shape);
    return known.package->empty(tuple_of(shape), known.package->dtypes[static_cast<std::size_t>(dtype)]);
  }
  std::string const name = numpy_name(dtype);
  if (nb::hasattr(like.object, "__array_namespace__")) {
    nb::object const library = like.object.attr("__array_namespace__")();
    bool const is_scalar_of_jax = known.is_jax && shape.empty();  // it may share their memory
    return library.attr("empty")(tuple_of(is_scalar_of_jax ? Shape{1} : shape),
                                 nb::arg("dtype") = library.attr(name.c_str()),
                                 nb::arg("device") = like.object.attr("device"));
  }
  throw WrongType(like.array.name + " is a " + full_name_of(like.object) +
                  " (Tessera cannot make a result of that type); give out=");
}

void require_writable(Argument const& argument) {
  if (argument.is_writable) return;
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

[[nodiscard]] std::optional<std::uintptr_t> address_of(std::optional<Stream> const& stream) {
  return stream ? std::optional(stream->address) : std::nullopt;
}

/// Returns the pointer of a stream as an object of Python, or the object itself if it is of no known kind.
[[nodiscard]] nb::object pointer_of(nb::handle stream) {
  if (nb::isinstance<nb::int_>(stream)) return nb::borrow(stream);
  Library const known = library_of(stream);
  static Name const of_torch("cuda_stream"), of_cupy("ptr");
  nb::object found;  // in a tenth of the time of the method below
  if (is_of(known, Package::Kind::torch)) found = of_torch.find_in(stream);
  if (is_of(known, Package::Kind::cupy)) found = of_cupy.find_in(stream);
  if (found.is_valid()) return found;
  if (nb::hasattr(stream, "__cuda_stream__")) {
    return nb::object(stream.attr("__cuda_stream__")())[1];  // (version, pointer)
  }
  for (Name const* const name : {&of_torch, &of_cupy}) {
    found = name->find_in(stream);
    if (found.is_valid()) return found;
  }
  return nb::borrow(stream);
}

}  // namespace

std::optional<std::uintptr_t> stream_of(nb::handle stream) {
  if (stream.is_none()) return std::nullopt;
  nb::object const pointer = pointer_of(stream);
  std::uintptr_t address = 0;
  bool const is_integer = nb::isinstance<nb::int_>(pointer) && !nb::isinstance<nb::bool_>(pointer);
  if (!is_integer || !nb::try_cast(pointer, address)) {
    throw WrongType("stream is a " + full_name_of(stream) +
                    " (no stream of CUDA: it has neither __cuda_stream__ nor cuda_stream nor ptr); give a stream, or "
                    "its pointer as an integer");
  }
  constexpr std::uintptr_t per_thread = 2;  // cudaStreamPerThread: one handle for a stream of each thread
  if (address == per_thread) {
    throw std::invalid_argument(
        "stream is the default stream of each thread (workspaces are kept by stream, and threads would share one); "
        "give a stream of your own");
  }
  return address;
}

Argument input(std::string const& name, nb::handle object, nb::handle stream) {
  std::optional<std::uintptr_t> const own = stream_of(stream);
  Argument argument = import(name, object, false, own);
  if (own && argument.array.memory == Memory::host) {
    throw std::invalid_argument("stream is given (" + name +
                                " is on the host, where a call waits for its result); leave it out");
  }
  if (own) {
    argument.array.stream = Stream{*own, 0};
    require_no_capture(*own);  // first: to ask for the number ends a capture
    argument.array.stream->number = number_of_stream(*own);
  }
  return argument;
}

Argument input(std::string const& name, nb::handle object, Argument const& first) {
  return import(name, object, false, address_of(first.array.stream));
}

Argument result(nb::handle out, Argument const& like, DType dtype, Shape const& shape,
                std::initializer_list<Argument const*> inputs, Argument const* in_place) {
  std::optional<Stream> const stream = like.array.stream;
  bool const is_new = out.is_none();
  nb::object const made = is_new ? make(like, dtype, shape) : nb::borrow(out);
  Argument argument = import(is_new ? "the new result" : "out", made, true, address_of(stream));
  argument.array.stream = stream;
  if (is_new) {
    argument.is_new = argument.is_writable = true;  // nobody has seen it, also if its library never writes into arrays
    if (shape.empty()) argument.array.shape.clear();
  }
  if (argument.array.dtype != dtype) {
    if (is_new) {
      throw WrongType("x's library makes arrays of " + numpy_name(argument.array.dtype) + " instead of " +
                      numpy_name(dtype) + " (JAX has no 64-bit numbers by default); set jax_enable_x64");
    }
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

nb::object returned(Argument const& argument) {
  nb::object const& object = argument.object;
  if (!argument.is_new || !argument.library.is_jax) return object;
  wait_for_stream_of(argument.array);
  return argument.rank() == 0 ? object.attr("reshape")(nb::make_tuple()) : object;
}

void require_rank(Argument const& argument, std::size_t rank, std::string_view what) {
  if (argument.rank() == rank) return;
  throw std::invalid_argument(argument.array.name + " has shape " + to_string(argument.shape()) +
                              " (this function takes " + std::string(what) + "); reshape it");
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

void require_shape(Argument const& argument, Shape const& shape, std::string_view why) {
  if (argument.shape() == shape) return;
  throw std::invalid_argument(argument.array.name + " has shape " + to_string(argument.shape()) + ", not " +
                              to_string(shape) + " (" + std::string(why) + "); give such an array");
}

void require_sum_dtype(Argument const& x, nb::handle dtype) {
  // Of another dtype the kernel says which it takes.
  if (dtype.is_none() && x.array.dtype != DType::int32) return;
  std::string const own = numpy_name(x.array.dtype);
  if (dtype.is_none()) {
    std::vector<DType> const built = built_dtypes();
    if (std::ranges::find(built, DType::int32) == built.end()) return;
    throw WrongType(x.array.name + " has dtype " + own +
                    " (its sums have as many bits and wrap, others' have 64); give dtype=\"" + own +
                    "\" if they may wrap, or convert it first");
  }
  nb::object name = nb::borrow(dtype);
  for (char const* const attribute : {"name", "__name__"}) {
    if (nb::isinstance<nb::str>(dtype) || !nb::hasattr(dtype, attribute)) continue;
    name = dtype.attr(attribute);
    break;
  }
  auto text = nb::cast<std::string>(nb::str(name));
  text = text.substr(text.rfind('.') + 1);  // torch.float32
  // Python's types, as NumPy reads them.
  if (text == "float" || text == "int") text += "64";
  if (text == own) return;
  throw WrongType("dtype is " + text + " (" + x.array.name + " has " + own +
                  ", and nothing is converted silently); "
                  "convert it first");
}

}  // namespace tessera::python
