#pragma once
/// \file
/// A small RAII layer over HDF5's C API: just what case files and output files need. No HDF5 header is included here,
/// so that only the io sources are compiled against it. Like HDF5 itself, for one thread at a time.

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

/// HDF5 refused something. The text is one clause, with HDF5's own innermost reason where it gives one; the caller, who
/// knows the file and what it is for, turns it into a message for people.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An HDF5 identifier (hid_t) of any kind that closes itself. Empty when default constructed or moved from.
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
  /// Closes now, so that a failure is seen; throws Error. The destructor swallows it.
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

/// Calls `visit(offset, count)` for boxes that cover `shape` once, in C order, each contiguous in memory and of at most
/// `max_bytes` bytes (or one element, if that is larger). No call for an empty shape; one, with empty vectors, for a
/// scalar.
void for_each_slab(Shape const& shape, std::size_t element_bytes, std::size_t max_bytes,
                   std::function<void(Shape const& offset, Shape const& count)> const& visit);

/// What is wrong with an object of a file, for `<object> <what> (<why>); <what_to_do>`.
struct Fault {
  std::string what;
  std::string why;
  std::string what_to_do;
};

/// Part of a dataset: where it starts, and its extents.
struct Box {
  Shape offset;
  Shape count;
};

/// True if this build's HDF5 is parallel: ranks can open a file together.
[[nodiscard]] bool is_parallel();

/// An array in a file. Transfers are in C order and between equal dtypes; only the byte order may differ.
class Dataset {
 public:
  explicit Dataset(Handle handle) : handle_(std::move(handle)) {}

  /// Extents, slowest first; empty for a scalar. Throws Error for HDF5's null dataspace, which has none.
  [[nodiscard]] Shape shape() const;
  [[nodiscard]] ElementType type() const;

  /// What is missing of the data, or would be converted. HDF5 reads fill values (zeros if nobody chose others) without a
  /// word if a source of a virtual dataset is missing, raw data in another file are too short, or storage was never
  /// written. Elements without storage or source are not missing if the file's author chose a fill value for them.
  /// Storage that is allocated at once looks the same before and after it was written.
  [[nodiscard]] std::optional<Fault> missing() const { return missing(0); }

  /// Reads the box that starts at `offset` and has the extents `count` into `destination`. Both have the dataset's rank
  /// (empty for a scalar). Throws Error when the dataset does not hold `dtype`, when the box leaves the dataset, and
  /// when the file ends before the data.
  void read(void* destination, DType dtype, Shape const& offset, Shape const& count) const;
  /// Writes such a box.
  void write(void const* source, DType dtype, Shape const& offset, Shape const& count);

  /// The same by all ranks together, of a file that they opened together: collective access. Each calls it equally often; one
  /// that has nothing to say gives no box. What one rank throws the others do not hear. True if MPI took it as one access: a
  /// dataset whose bytes are converted or compressed may be read by each rank for itself.
  bool read_together(void* destination, DType dtype, std::optional<Box> const& box) const;
  bool write_together(void const* source, DType dtype, std::optional<Box> const& box);

  /// Reads or writes the whole dataset, in boxes of at most `max_bytes`.
  void read(void* destination, DType dtype, std::size_t max_bytes = default_slab_bytes) const;
  void write(void const* source, DType dtype, std::size_t max_bytes = default_slab_bytes);

  /// What one transfer moves: small beside any memory, large beside any latency.
  static constexpr std::size_t default_slab_bytes = std::size_t{64} << 20;

 private:
  [[nodiscard]] std::optional<Fault> missing(int depth) const;
  [[nodiscard]] std::optional<Fault> missing_of_source(std::string const& file_name, std::string const& name,
                                                       std::int64_t selection, double wanted, int depth) const;

  Handle handle_;
};

/// A scalar attached to a group.
class Attribute {
 public:
  explicit Attribute(Handle handle) : handle_(std::move(handle)) {}

  [[nodiscard]] ElementType type() const;
  /// The value: bool (an enum of FALSE and TRUE, as h5py and NumPy write it), integer, floating-point number or string
  /// (fixed or variable length). Throws Error for anything else, for more or less than one element, and for an unsigned
  /// integer above the largest int64.
  [[nodiscard]] ParameterValue value() const;

 private:
  Handle handle_;
};

class Group {
 public:
  /// What a name in a group stands for. A link whose target does not exist counts as missing.
  enum class Member : std::uint8_t { missing, group, dataset, other };
  /// When a new dataset gets its space in the file: as data are written, or at once, so that who writes a part of it later
  /// needs no more.
  enum class Space : std::uint8_t { as_written, at_once };

  Group() = default;
  explicit Group(Handle handle) : handle_(std::move(handle)) {}

  [[nodiscard]] bool is_open() const { return handle_.is_open(); }
  /// Names of the members, sorted.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] Member member(std::string const& name) const;
  /// What is wrong with a soft or external link whose target does not exist; nothing for any other name.
  [[nodiscard]] std::optional<Fault> dangling(std::string const& name) const;

  [[nodiscard]] Group open_group(std::string const& name) const;
  [[nodiscard]] Dataset open_dataset(std::string const& name) const;
  /// The group of that name, made if it is missing.
  [[nodiscard]] Group require_group(std::string const& name);
  /// A new dataset without data. Throws Error if the name is taken.
  [[nodiscard]] Dataset create_dataset(std::string const& name, DType dtype, Shape const& shape,
                                       Space space = Space::as_written);

  /// Names of the attributes of the group, sorted; or of a member.
  [[nodiscard]] std::vector<std::string> attribute_names(std::string const& member = ".") const;
  [[nodiscard]] Attribute open_attribute(std::string const& name) const;
  /// A new scalar attribute, typed as h5py does: bool as an enum of int8, str as UTF-8 of variable length.
  void write_attribute(std::string const& name, ParameterValue const& value);

 private:
  Handle handle_;
};

/// The bytes of a file that holds nothing, made in memory.
[[nodiscard]] std::string empty_file();

class File {
 public:
  enum class Mode : std::uint8_t { read, modify, create };  ///< create truncates what is there

  File() = default;
  /// Throws Error when the file does not open. From here on HDF5 prints no error stacks in this process.
  File(std::string const& path, Mode mode);
  /// The same by all ranks of an MPI_Comm together, by a parallel HDF5 (is_parallel()): to read, or to modify what is there
  /// already. They also close it together, and what is in it. Throws Error.
  File(std::string const& path, Mode mode, void const* communicator);

  [[nodiscard]] bool is_open() const { return handle_.is_open(); }
  /// The group "/".
  [[nodiscard]] Group root() const;
  /// Writes everything to the file and closes it; throws Error if that fails (a full disk shows here). Every Group,
  /// Dataset and Attribute of it must be gone.
  void close();

 private:
  Handle handle_;
};

}  // namespace tessera::hdf5
