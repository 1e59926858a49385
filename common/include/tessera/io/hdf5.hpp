#pragma once
/// \file
/// A small RAII layer over HDF5's C API, with only the functions that case files and output files need. No HDF5 header
/// is included here, so that only the io sources are compiled against HDF5. Not thread-safe, as HDF5 itself.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>

namespace tessera::hdf5 {

/// An HDF5 call failed. The text is one clause, with HDF5's innermost reason if there is one. The caller, who knows the
/// file and its purpose, turns it into a message for the user.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An HDF5 identifier (hid_t) of any kind that closes itself. Empty if default constructed or moved from.
class Handle {
 public:
  Handle() = default;
  explicit Handle(std::int64_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, none)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  Handle(Handle const&) = delete;
  Handle& operator=(Handle const&) = delete;
  ~Handle();

  [[nodiscard]] std::int64_t id() const { return id_; }
  [[nodiscard]] bool is_open() const { return id_ != none; }
  /// Closes the identifier and throws Error if that fails. The destructor ignores a failure.
  void close();

 private:
  static constexpr std::int64_t none = -1;
  std::int64_t id_ = none;
};

/// Element type of a dataset or an attribute.
struct ElementType {
  std::optional<DType>
      dtype;  ///< IEEE binary16/32/64, bfloat16, or signed 32- or 64-bit integer, either byte order; nothing otherwise
  std::string name;  ///< for messages: "float", "int64", "uint8", "bool", "string", "compound", ...
};

/// Calls `visit(offset, count)` for boxes that cover `shape` exactly once, in C order. Each box is contiguous in memory
/// and has at most `max_bytes` bytes (or one element, if an element is larger). No call for an empty shape; one call
/// with empty vectors for a scalar.
void for_each_slab(Shape const& shape, std::size_t element_bytes, std::size_t max_bytes,
                   std::function<void(Shape const& offset, Shape const& count)> const& visit);

/// A defect of an object in a file, for the message `<object> <what> (<why>); <what_to_do>`.
struct Fault {
  std::string what;
  std::string why;
  std::string what_to_do;
};

/// Part of a dataset: its start and its extents.
struct Box {
  Shape offset;
  Shape count;
};

/// True if this build's HDF5 is parallel: several ranks can open a file together.
[[nodiscard]] bool is_parallel();

/// An array in a file. Transfers are in C order and between equal dtypes; only the byte order may differ.
class Dataset : Handle {
 public:
  explicit Dataset(Handle handle) : Handle(std::move(handle)) {}

  /// Returns the extents, slowest dimension first; empty for a scalar. Throws Error for HDF5's null dataspace, which
  /// has no extents.
  [[nodiscard]] Shape shape() const;
  [[nodiscard]] ElementType type() const;

  /// Returns a description of data that are missing or would be converted, or nothing. HDF5 silently reads fill values
  /// (zeros by default) if a source of a virtual dataset is missing, if raw data in another file are too short, or if
  /// storage was never written. Elements without storage or source do not count as missing if the author of the file
  /// chose a fill value for them. Storage that is allocated at creation looks the same before and after it is written,
  /// so that missing data in it are not detected.
  [[nodiscard]] std::optional<Fault> missing() const { return missing(0); }

  /// Reads the box that starts at `offset` and has the extents `count` into `destination`. Both have the dataset's rank
  /// (empty for a scalar). Throws Error if the dataset does not hold `dtype`, if the box leaves the dataset, or if the
  /// file ends before the data.
  void read(void* destination, DType dtype, Shape const& offset, Shape const& count) const;
  /// Writes a box.
  void write(void const* source, DType dtype, Shape const& offset, Shape const& count);

  /// Collective read or write of a file that all ranks opened together. Must be called equally often by all ranks; a
  /// rank without data passes no box. An error on one rank is not known to the others. Returns true if MPI executed one
  /// collective access; if bytes must be converted or are compressed, each rank may read independently.
  bool read_together(void* destination, DType dtype, std::optional<Box> const& box) const;
  bool write_together(void const* source, DType dtype, std::optional<Box> const& box);

  /// Reads or writes the whole dataset in boxes of at most `max_bytes`.
  void read(void* destination, DType dtype, std::size_t max_bytes = default_slab_bytes) const;
  void write(void const* source, DType dtype, std::size_t max_bytes = default_slab_bytes);

  /// Bytes per transfer: small compared with any memory, large enough to hide any latency.
  static constexpr std::size_t default_slab_bytes = std::size_t{64} << 20;

 private:
  [[nodiscard]] std::optional<Fault> missing(int depth) const;
  [[nodiscard]] std::optional<Fault> missing_of_source(std::string const& file_name, std::string const& name,
                                                       std::int64_t selection, double wanted, int depth) const;
};

/// A scalar attached to a group.
class Attribute : Handle {
 public:
  explicit Attribute(Handle handle) : Handle(std::move(handle)) {}

  [[nodiscard]] ElementType type() const;
  /// Returns the value: bool (an enum of FALSE and TRUE, as h5py and NumPy write it), integer, floating-point number or
  /// string (fixed or variable length). Throws Error for anything else, for more or less than one element, and for an
  /// unsigned integer above the largest int64.
  [[nodiscard]] ParameterValue value() const;
};

class Group : Handle {
 public:
  /// The kind of object that a name in a group stands for. A link whose target does not exist counts as missing.
  enum class Member : std::uint8_t { missing, group, dataset, other };
  /// When a new dataset is allocated in the file: when data are written, or at creation, so that writing a part later
  /// needs no further allocation.
  enum class Space : std::uint8_t { as_written, at_once };

  Group() = default;
  explicit Group(Handle handle) : Handle(std::move(handle)) {}

  using Handle::is_open;
  /// Returns the names of the members, sorted.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] Member member(std::string const& name) const;
  /// Returns a description of a soft or external link whose target does not exist; nothing for any other name.
  [[nodiscard]] std::optional<Fault> dangling(std::string const& name) const;

  [[nodiscard]] Group open_group(std::string const& name) const;
  [[nodiscard]] Dataset open_dataset(std::string const& name) const;
  /// Returns the group with that name. Creates it if it is missing.
  [[nodiscard]] Group require_group(std::string const& name);
  /// Returns a new dataset without data. Throws Error if the name is taken.
  [[nodiscard]] Dataset create_dataset(std::string const& name, DType dtype, Shape const& shape,
                                       Space space = Space::as_written);

  /// Returns the names of the attributes of the group or of a member, sorted.
  [[nodiscard]] std::vector<std::string> attribute_names(std::string const& member = ".") const;
  [[nodiscard]] Attribute open_attribute(std::string const& name) const;
  /// Writes a new scalar attribute with h5py's types: bool as an enum of int8, str as UTF-8 of variable length.
  void write_attribute(std::string const& name, ParameterValue const& value);
};

/// Returns the bytes of an HDF5 file without contents, made in memory.
[[nodiscard]] std::string empty_file();

class File {
 public:
  enum class Mode : std::uint8_t { read, modify, create };  ///< create truncates what is there

  File() = default;
  /// Throws Error if the file does not open. Disables HDF5's error stack output in this process.
  File(std::string const& path, Mode mode);
  /// Opens an existing file on all ranks of an MPI_Comm together, to read or to modify it. Requires a parallel HDF5
  /// (is_parallel()). All ranks must also close the file, and objects in it, together. Throws Error.
  File(std::string const& path, Mode mode, void const* communicator);

  [[nodiscard]] bool is_open() const { return handle_.is_open(); }
  /// Returns the group "/".
  [[nodiscard]] Group root() const;
  /// Writes everything to the file and closes it. Throws Error if that fails, for example because the disk is full. All
  /// Groups, Datasets and Attributes of the file must have been destroyed.
  void close();

 private:
  Handle handle_;
};

}  // namespace tessera::hdf5
