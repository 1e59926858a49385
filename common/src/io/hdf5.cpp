#include <tessera/io/hdf5.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "hdf5_calls.hpp"

// Uses only calls whose names and signatures are the same from HDF5 1.10 to 2.x, always with the version number in the
// name (H5Dopen2, not H5Dopen), so that no H5_USE_1xx_API macro changes their meaning. H5Literate and H5Oget_info
// differ between versions; H5Gget_info with H5Lget_name_by_idx, and H5Oopen with H5Iget_type, replace them.
// H5Lget_info, in hdf5_sources.cpp, is a macro, but the used members of its result are the same in all versions.

namespace tessera::hdf5 {

static_assert(std::is_same_v<hid_t, std::int64_t>, "HDF5 1.10 or newer is needed (hid_t has 64 bits since then)");

std::string reason() {
  std::string text;
  // Walking upward begins with the function that failed first; its description is the useful one.
  auto const take_first = [](unsigned, H5E_error2_t const* error, void* out) -> herr_t {
    auto& found = *static_cast<std::string*>(out);
    if (found.empty() && error->desc != nullptr) found = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &text);
  return text;
}

void fail(std::string const& what) {
  std::string const why = reason();
  throw Error(why.empty() ? what : what + ": " + why);
}

namespace {

/// The positions of the parts of a 16-bit float, as reported by H5Tget_fields, and its exponent bias.
struct ShortFields {
  std::size_t sign, exponent, exponent_bits, mantissa, mantissa_bits, bias;
  friend bool operator==(ShortFields const&, ShortFields const&) = default;
};
constexpr ShortFields half_fields{15, 10, 5, 0, 10, 15};
constexpr ShortFields bfloat16_fields{15, 7, 8, 0, 7, 127};

/// Returns a 16-bit float type in that byte order. HDF5 before 2.0 has no such types; h5py creates its float16 in the
/// same way. The type exists until the library closes.
hid_t make_short_float(ShortFields const& fields, H5T_order_t order) {
  std::string const what = "no type for 16-bit floats";
  hid_t const type = checked(H5Tcopy(H5T_IEEE_F32LE), what);
  checked(
      H5Tset_fields(type, fields.sign, fields.exponent, fields.exponent_bits, fields.mantissa, fields.mantissa_bits),
      what);
  checked(H5Tset_size(type, 2), what);
  checked(H5Tset_ebias(type, fields.bias), what);
  checked(H5Tset_order(type, order), what);
  return type;
}

/// The types of a dtype in memory, and in files, where it is the same on every machine.
struct Types {
  hid_t memory;
  hid_t file;
};

Types short_floats(ShortFields const& fields) {
  return {make_short_float(fields, H5Tget_order(H5T_NATIVE_FLOAT)), make_short_float(fields, H5T_ORDER_LE)};
}

Types types_of(DType dtype) {
  static Types const half = short_floats(half_fields);
  static Types const bfloat16 = short_floats(bfloat16_fields);
  switch (dtype) {
    case DType::float32: return {H5T_NATIVE_FLOAT, H5T_IEEE_F32LE};
    case DType::float64: return {H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE};
    case DType::int32: return {H5T_NATIVE_INT32, H5T_STD_I32LE};
    case DType::int64: return {H5T_NATIVE_INT64, H5T_STD_I64LE};
    case DType::float16: return half;
    case DType::bfloat16: return bfloat16;
    case DType::uint32: return {H5T_NATIVE_UINT32, H5T_STD_U32LE};
    case DType::uint64: return {H5T_NATIVE_UINT64, H5T_STD_U64LE};
  }
  throw Error("unknown dtype");
}

bool equal(hid_t a, hid_t b) { return H5Tequal(a, b) > 0; }

/// Returns the fields of a 16-bit float with an implied leading bit, in either byte order; otherwise nothing. HDF5's
/// own types, in versions that have them, are also recognised by these fields.
std::optional<ShortFields> short_fields(hid_t type) {
  if (H5Tget_class(type) != H5T_FLOAT || H5Tget_size(type) != 2 || H5Tget_norm(type) != H5T_NORM_IMPLIED) return {};
  H5T_order_t const order = H5Tget_order(type);
  if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return {};
  ShortFields found{};
  checked(
      H5Tget_fields(type, &found.sign, &found.exponent, &found.exponent_bits, &found.mantissa, &found.mantissa_bits),
      "no fields of a float");
  found.bias = H5Tget_ebias(type);
  return found;
}

/// Returns the enum that h5py, PyTables and netCDF use for booleans.
Handle bool_type() {
  Handle type = opened(H5Tenum_create(H5T_STD_I8LE), "no bool type");
  std::int8_t const no = 0;
  std::int8_t const yes = 1;
  checked(H5Tenum_insert(type.id(), "FALSE", &no), "no bool type");
  checked(H5Tenum_insert(type.id(), "TRUE", &yes), "no bool type");
  return type;
}

/// True for any enum with exactly the members FALSE and TRUE, with any integer values.
bool is_bool(hid_t type) {
  if (H5Tget_nmembers(type) != 2) return false;
  for (unsigned i = 0; i < 2; ++i) {
    char* const name = H5Tget_member_name(type, i);
    std::string const text = name == nullptr ? "" : name;
    H5free_memory(name);
    if (text != "FALSE" && text != "TRUE") return false;
  }
  return true;
}

ElementType describe(hid_t type) {
  if (equal(type, H5T_IEEE_F32LE) || equal(type, H5T_IEEE_F32BE)) return {DType::float32, "float"};
  if (equal(type, H5T_IEEE_F64LE) || equal(type, H5T_IEEE_F64BE)) return {DType::float64, "double"};
  if (equal(type, H5T_STD_I32LE) || equal(type, H5T_STD_I32BE)) return {DType::int32, "int32"};
  if (equal(type, H5T_STD_I64LE) || equal(type, H5T_STD_I64BE)) return {DType::int64, "int64"};
  if (equal(type, H5T_STD_U32LE) || equal(type, H5T_STD_U32BE)) return {DType::uint32, "uint32"};
  if (equal(type, H5T_STD_U64LE) || equal(type, H5T_STD_U64BE)) return {DType::uint64, "uint64"};
  std::optional<ShortFields> const fields = short_fields(type);
  if (fields == half_fields) return {DType::float16, "half"};
  if (fields == bfloat16_fields) return {DType::bfloat16, "bfloat16"};
  std::string const bits = std::to_string(8 * H5Tget_size(type));
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: {
      std::string const name = (H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int") + bits;
      return {std::nullopt, name == "int32" ? "int32 of fewer bits" : name};
    }
    case H5T_FLOAT:
      return {std::nullopt, (bits == "16" || bits == "32" || bits == "64" ? "non-IEEE float" : "float") + bits};
    case H5T_STRING: return {std::nullopt, "string"};
    case H5T_ENUM: return {std::nullopt, is_bool(type) ? "bool" : "enum"};
    case H5T_COMPOUND: return {std::nullopt, "compound"};
    case H5T_ARRAY: return {std::nullopt, "array"};
    case H5T_VLEN: return {std::nullopt, "variable-length sequence"};
    case H5T_OPAQUE: return {std::nullopt, "opaque"};
    case H5T_BITFIELD: return {std::nullopt, "bitfield"};
    case H5T_REFERENCE: return {std::nullopt, "reference"};
    default: return {std::nullopt, "unknown type"};  // time, and types of newer versions (complex)
  }
}

std::vector<hsize_t> to_hdf5(Shape const& shape) { return {shape.begin(), shape.end()}; }

Handle make_space(Shape const& shape) {
  if (shape.empty()) return opened(H5Screate(H5S_SCALAR), "no scalar dataspace");
  auto const extents = to_hdf5(shape);
  return opened(H5Screate_simple(static_cast<int>(shape.size()), extents.data(), nullptr),
                "no dataspace " + to_string(shape));
}

/// Returns the dataset's dataspace with the box selected.
Handle select(hid_t dataset, Shape const& offset, Shape const& count) {
  Handle space = opened(H5Dget_space(dataset), "no dataspace");
  auto const rank = static_cast<std::size_t>(checked(H5Sget_simple_extent_ndims(space.id()), "no rank"));
  if (offset.size() != rank || count.size() != rank) {
    throw Error("the box " + to_string(offset) + " + " + to_string(count) + " has not the dataset's rank " +
                std::to_string(rank));
  }
  if (rank == 0) return space;  // hyperslabs are not defined for scalars, which are always whole
  auto const start = to_hdf5(offset);
  auto const extents = to_hdf5(count);
  checked(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, extents.data(), nullptr),
          "no box " + to_string(offset) + " + " + to_string(count));
  // HDF5 allows a selection that leaves the extent, and fails later with a message that names neither.
  if (H5Sselect_valid(space.id()) <= 0) {
    throw Error("the box " + to_string(offset) + " + " + to_string(count) + " leaves the dataset");
  }
  return space;
}

std::string read_string(hid_t attribute, hid_t type) {
  if (H5Tis_variable_str(type) > 0) {
    char* raw = nullptr;
    // Uses the file's own type as the type in memory: it has the right character set, which HDF5 does not convert.
    checked(H5Aread(attribute, type, static_cast<void*>(&raw)), "the string cannot be read");
    std::string text = raw == nullptr ? "" : raw;
    H5free_memory(raw);
    return text;
  }
  std::string text(H5Tget_size(type), '\0');
  checked(H5Aread(attribute, type, text.data()), "the string cannot be read");
  text.resize(std::min(text.find('\0'), text.size()));
  if (H5Tget_strpad(type) == H5T_STR_SPACEPAD) text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::int64_t read_integer(hid_t attribute, hid_t type) {
  if (H5Tget_size(type) > sizeof(std::int64_t)) throw Error("its integers have more than 64 bits");
  if (H5Tget_sign(type) != H5T_SGN_NONE) {
    std::int64_t value = 0;
    checked(H5Aread(attribute, H5T_NATIVE_INT64, &value), "the integer cannot be read");
    return value;
  }
  std::uint64_t value = 0;
  checked(H5Aread(attribute, H5T_NATIVE_UINT64, &value), "the integer cannot be read");
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw Error(std::to_string(value) + " is larger than the largest int64");
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

Handle::~Handle() {
  if (id_ != none) H5Idec_ref(id_);
}

void Handle::close() {
  if (id_ == none) return;
  checked(H5Idec_ref(std::exchange(id_, none)), "closing failed");
}

void for_each_slab(Shape const& shape, std::size_t element_bytes, std::size_t max_bytes,
                   std::function<void(Shape const& offset, Shape const& count)> const& visit) {
  if (count_of(shape) == 0) return;
  if (shape.empty()) return visit({}, {});

  // Whole slices of the fastest dimensions are combined as long as they fit; `split` is the dimension that is divided.
  std::size_t const max_elements = std::max<std::size_t>(1, max_bytes / element_bytes);
  std::size_t split = shape.size() - 1;
  std::size_t slice = 1;  // elements of one step along `split`
  while (split > 0 && shape[split] <= max_elements / slice) slice *= shape[split--];
  std::size_t const step = std::max<std::size_t>(1, max_elements / slice);

  Shape offset(shape.size(), 0);
  Shape count(shape.size(), 1);
  for (std::size_t d = split + 1; d < shape.size(); ++d) count[d] = shape[d];
  while (true) {
    count[split] = std::min(step, shape[split] - offset[split]);
    visit(offset, count);
    offset[split] += count[split];
    for (std::size_t d = split; d > 0 && offset[d] == shape[d]; --d) {  // carry into the slower dimensions
      offset[d] = 0;
      ++offset[d - 1];
    }
    if (offset[0] == shape[0]) return;
  }
}

Shape Dataset::shape() const {
  Handle const space = opened(H5Dget_space(id()), "no dataspace");
  if (H5Sget_simple_extent_type(space.id()) == H5S_NULL) throw Error("it has no shape (a null dataspace)");
  int const rank = checked(H5Sget_simple_extent_ndims(space.id()), "no rank");
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  checked(H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr), "no extents");
  return {extents.begin(), extents.end()};
}

ElementType Dataset::type() const { return describe(opened(H5Dget_type(id()), "no type").id()); }

namespace {

// Transfers a box between memory and a dataset. `call` is H5Dread or H5Dwrite.
template <class Call, class Byte>
void transfer(Call const& call, char const* failed, hid_t dataset, Byte* memory, DType dtype, Shape const& offset,
              Shape const& count) {
  ElementType const found = describe(opened(H5Dget_type(dataset), "no type").id());
  if (found.dtype != dtype) throw Error("it holds " + found.name + ", not " + std::string(name_of(dtype)));
  Handle const file_space = select(dataset, offset, count);
  if (count_of(count) == 0) return;
  Handle const memory_space = make_space(count);
  checked(call(dataset, types_of(dtype).memory, memory_space.id(), file_space.id(), H5P_DEFAULT, memory), failed);
}

}  // namespace

void Dataset::read(void* destination, DType dtype, Shape const& offset, Shape const& count) const {
  transfer(H5Dread, "reading the data failed", id(), destination, dtype, offset, count);
}

void Dataset::write(void const* source, DType dtype, Shape const& offset, Shape const& count) {
  transfer(H5Dwrite, "writing the data failed", id(), source, dtype, offset, count);
}

#if defined(H5_HAVE_PARALLEL) && defined(TESSERA_HAVE_MPI)

bool is_parallel() { return true; }

namespace {

// One rank's side of a collective transfer: a box, or nothing.
struct Together {
  Together(hid_t dataset, std::optional<Box> const& box)
      : properties(opened(H5Pcreate(H5P_DATASET_XFER), "no property list")),
        file(box ? select(dataset, box->offset, box->count) : opened(H5Dget_space(dataset), "no dataspace")),
        memory(make_space(box ? box->count : Shape{1})) {
    checked(H5Pset_dxpl_mpio(properties.id(), H5FD_MPIO_COLLECTIVE), "no property list");
    if (box && count_of(box->count) > 0) return;
    checked(H5Sselect_none(file.id()), "no dataspace");
    checked(H5Sselect_none(memory.id()), "no dataspace");
  }
  [[nodiscard]] bool was_one_access() const {
    H5D_mpio_actual_io_mode_t mode = H5D_MPIO_NO_COLLECTIVE;
    return H5Pget_mpio_actual_io_mode(properties.id(), &mode) >= 0 && mode != H5D_MPIO_NO_COLLECTIVE;
  }

  Handle properties;
  Handle file;
  Handle memory;
};

// Transfers this rank's box. An invalid box (it leaves the dataset) is thrown only after the collective transfer,
// because the other ranks wait for all ranks.
template <class Call, class Byte>
bool transfer_together(Call const& call, char const* failed, hid_t dataset, Byte* memory, DType dtype,
                       std::optional<Box> const& box) {
  std::optional<Together> way;
  std::string fault;
  try {
    way.emplace(dataset, box);
  } catch (Error const& error) {
    fault = error.what();
    way.emplace(dataset, std::nullopt);
  }
  checked(call(dataset, types_of(dtype).memory, way->memory.id(), way->file.id(), way->properties.id(), memory),
          failed);
  if (!fault.empty()) throw Error(fault);
  return way->was_one_access();
}

}  // namespace

bool Dataset::read_together(void* destination, DType dtype, std::optional<Box> const& box) const {
  return transfer_together(H5Dread, "reading the data failed", id(), destination, dtype, box);
}

bool Dataset::write_together(void const* source, DType dtype, std::optional<Box> const& box) {
  return transfer_together(H5Dwrite, "writing the data failed", id(), source, dtype, box);
}

File::File(std::string const& path, Mode mode, void const* communicator) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Handle const access = opened(H5Pcreate(H5P_FILE_ACCESS), "no property list");
  checked(H5Pset_fapl_mpio(access.id(), *static_cast<MPI_Comm const*>(communicator), MPI_INFO_NULL),
          "no access by several ranks");
  // Metadata are the same on all ranks.
  checked(H5Pset_all_coll_metadata_ops(access.id(), true), "no access by several ranks");
  checked(H5Pset_coll_metadata_write(access.id(), true), "no access by several ranks");
  unsigned const how = mode == Mode::read ? H5F_ACC_RDONLY : H5F_ACC_RDWR;
  handle_ = opened(H5Fopen(path.c_str(), how, access.id()), "HDF5 cannot open it on several ranks");
}

#else

namespace {

[[noreturn]] void not_parallel() { throw Error("this build's HDF5 is not parallel"); }

}  // namespace

bool is_parallel() { return false; }
bool Dataset::read_together(void*, DType, std::optional<Box> const&) const { not_parallel(); }
bool Dataset::write_together(void const*, DType, std::optional<Box> const&) { not_parallel(); }
File::File(std::string const&, Mode, void const*) { not_parallel(); }

#endif

void Dataset::read(void* destination, DType dtype, std::size_t max_bytes) const {
  auto* next = static_cast<std::byte*>(destination);
  for_each_slab(shape(), size_of(dtype), max_bytes, [&](Shape const& offset, Shape const& count) {
    read(next, dtype, offset, count);
    next += count_of(count) * size_of(dtype);
  });
}

void Dataset::write(void const* source, DType dtype, std::size_t max_bytes) {
  auto const* next = static_cast<std::byte const*>(source);
  for_each_slab(shape(), size_of(dtype), max_bytes, [&](Shape const& offset, Shape const& count) {
    write(next, dtype, offset, count);
    next += count_of(count) * size_of(dtype);
  });
}

ElementType Attribute::type() const { return describe(opened(H5Aget_type(id()), "no type").id()); }

ParameterValue Attribute::value() const {
  Handle const space = opened(H5Aget_space(id()), "no dataspace");
  hssize_t const count = checked(H5Sget_simple_extent_npoints(space.id()), "no dataspace");
  if (count != 1) throw Error("it holds " + std::to_string(count) + " values, not one");

  Handle const type = opened(H5Aget_type(id()), "no type");
  switch (H5Tget_class(type.id())) {
    case H5T_INTEGER: return read_integer(id(), type.id());
    case H5T_FLOAT: {
      double value = 0;
      checked(H5Aread(id(), H5T_NATIVE_DOUBLE, &value), "the number cannot be read");
      return value;
    }
    case H5T_STRING: return read_string(id(), type.id());
    case H5T_ENUM:
      if (is_bool(type.id())) {
        std::int8_t value = 0;  // HDF5 converts enums by the names of their members
        checked(H5Aread(id(), bool_type().id(), &value), "the bool cannot be read");
        return value != 0;
      }
      break;
    default: break;
  }
  throw Error("it is of type " + describe(type.id()).name + ", not a bool, number or string");
}

std::vector<std::string> Group::names() const {
  H5G_info_t info{};
  checked(H5Gget_info(id(), &info), "the group cannot be listed");
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    names.push_back(text_of("the group cannot be listed", [&](char* buffer, std::size_t size) {
      return H5Lget_name_by_idx(id(), ".", H5_INDEX_NAME, H5_ITER_INC, i, buffer, size, H5P_DEFAULT);
    }));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Group::Member Group::member(std::string const& name) const {
  if (checked(H5Lexists(id(), name.c_str(), H5P_DEFAULT), name + " cannot be looked up") == 0) {
    return Member::missing;
  }
  if (dangling(name)) return Member::missing;
  Handle const object = opened(H5Oopen(id(), name.c_str(), H5P_DEFAULT), name + " cannot be opened");
  switch (H5Iget_type(object.id())) {
    case H5I_GROUP: return Member::group;
    case H5I_DATASET: return Member::dataset;
    default: return Member::other;
  }
}

Group Group::open_group(std::string const& name) const {
  return Group(opened(H5Gopen2(id(), name.c_str(), H5P_DEFAULT), "group " + name + " cannot be opened"));
}

Dataset Group::open_dataset(std::string const& name) const {
  return Dataset(opened(H5Dopen2(id(), name.c_str(), H5P_DEFAULT), "dataset " + name + " cannot be opened"));
}

// No time stamps, so that the same run writes the same bytes.
static Handle without_times(hid_t kind) {
  Handle properties = opened(H5Pcreate(kind), "no property list");
  checked(H5Pset_obj_track_times(properties.id(), false), "no property list");
  return properties;
}

Group Group::require_group(std::string const& name) {
  if (member(name) != Member::missing) return open_group(name);
  Handle const properties = without_times(H5P_GROUP_CREATE);
  return Group(opened(H5Gcreate2(id(), name.c_str(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                      "group " + name + " cannot be made"));
}

Dataset Group::create_dataset(std::string const& name, DType dtype, Shape const& shape, Space space) {
  if (member(name) != Member::missing) throw Error(name + " exists already");
  Handle const extents = make_space(shape);
  Handle const properties = without_times(H5P_DATASET_CREATE);
  if (space == Space::at_once) {
    checked(H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY), "no property list");
    checked(H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER), "no property list");
  }
  return Dataset(opened(
      H5Dcreate2(id(), name.c_str(), types_of(dtype).file, extents.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
      "dataset " + name + " cannot be made"));
}

std::vector<std::string> Group::attribute_names(std::string const& member) const {
  std::vector<std::string> names;
  auto const collect = [](hid_t, char const* name, H5A_info_t const*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->emplace_back(name);
    return 0;
  };
  hsize_t index = 0;
  checked(H5Aiterate_by_name(id(), member.c_str(), H5_INDEX_NAME, H5_ITER_INC, &index, collect, &names, H5P_DEFAULT),
          "the attributes cannot be listed");
  std::sort(names.begin(), names.end());
  return names;
}

Attribute Group::open_attribute(std::string const& name) const {
  return Attribute(opened(H5Aopen(id(), name.c_str(), H5P_DEFAULT), "attribute " + name + " cannot be opened"));
}

void Group::write_attribute(std::string const& name, ParameterValue const& value) {
  auto const write = [&](hid_t stored_type, hid_t memory_type, void const* data) {
    Handle const space = make_space({});
    Handle const attribute = opened(H5Acreate2(id(), name.c_str(), stored_type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                                    "attribute " + name + " cannot be made");
    checked(H5Awrite(attribute.id(), memory_type, data), "attribute " + name + " cannot be written");
  };
  if (auto const* truth = std::get_if<bool>(&value)) {
    std::int8_t const byte = *truth ? 1 : 0;
    Handle const type = bool_type();
    write(type.id(), type.id(), &byte);
  } else if (auto const* integer = std::get_if<std::int64_t>(&value)) {
    write(H5T_STD_I64LE, H5T_NATIVE_INT64, integer);
  } else if (auto const* number = std::get_if<double>(&value)) {
    write(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, number);
  } else {
    Handle const type = opened(H5Tcopy(H5T_C_S1), "no string type");
    checked(H5Tset_size(type.id(), H5T_VARIABLE), "no string type");
    checked(H5Tset_cset(type.id(), H5T_CSET_UTF8), "no string type");
    char const* const text = std::get<std::string>(value).c_str();
    write(type.id(), type.id(), static_cast<void const*>(&text));
  }
}

File::File(std::string const& path, Mode mode) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are reported once, in our own messages
  bool const creates = mode == Mode::create;
  hid_t const id = creates ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                           : H5Fopen(path.c_str(), mode == Mode::read ? H5F_ACC_RDONLY : H5F_ACC_RDWR, H5P_DEFAULT);
  handle_ = opened(id, creates ? "HDF5 cannot create it" : "HDF5 cannot open it");
}

std::string empty_file() {
  Handle const access = opened(H5Pcreate(H5P_FILE_ACCESS), "no property list");
  checked(H5Pset_fapl_core(access.id(), 4096, false), "no file in memory");
  Handle const properties = without_times(H5P_FILE_CREATE);
  Handle const file = opened(H5Fcreate("empty", H5F_ACC_TRUNC, properties.id(), access.id()), "no file in memory");
  checked(H5Fflush(file.id(), H5F_SCOPE_GLOBAL), "no file in memory");
  std::string bytes(static_cast<std::size_t>(checked(H5Fget_file_image(file.id(), nullptr, 0), "no file in memory")),
                    '\0');
  checked(H5Fget_file_image(file.id(), bytes.data(), bytes.size()), "no file in memory");
  return bytes;
}

Group File::root() const {
  return Group(opened(H5Gopen2(handle_.id(), "/", H5P_DEFAULT), "its root group cannot be opened"));
}

void File::close() {
  if (!handle_.is_open()) return;
  // H5Fclose reports a failed write only if this is the file's last identifier.
  checked(H5Fflush(handle_.id(), H5F_SCOPE_GLOBAL), "writing failed");
  handle_.close();
}

}  // namespace tessera::hdf5
