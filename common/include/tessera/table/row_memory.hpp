#pragma once
/// \file
/// The memory of cases and rows: bytes, selected by the name of an execution space. No templates and no Kokkos, so that
/// it is compiled once (tessera::runtime) and not with every variant.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>
#include <tessera/verify/sample.hpp>

namespace tessera {

/// Returns uninitialised memory of the kind that an execution space uses by default. It is freed with its last owner.
/// Kokkos' tools show `label`.
[[nodiscard]] std::shared_ptr<unsigned char> allocate_in(std::string_view space, std::size_t bytes,
                                                         std::string const& label);

/// Returns host memory that the threads of the default host space will touch first.
[[nodiscard]] std::shared_ptr<unsigned char> allocate_on_host(std::size_t bytes, std::string const& label);

/// Copies from host memory to a space's memory. Blocking.
void copy_from_host(std::string_view space, void* to, void const* from, std::size_t bytes);

/// Copies from a space's memory to host memory. Blocking.
void copy_to_host(std::string_view space, void* to, void const* from, std::size_t bytes);

/// Returns host memory for fields of these shapes, one block per field.
[[nodiscard]] std::vector<std::shared_ptr<unsigned char>> host_memory_of(std::vector<FieldSpec> const& specs,
                                                                         std::vector<Shape> const& shapes);

/// Returns copies of fields in a space's memory, one block per field.
[[nodiscard]] std::vector<std::shared_ptr<unsigned char>> copies_in(std::string_view space,
                                                                    std::vector<HostField> const& fields);

/// Returns fields as plain data: names, dtypes and shapes, and the shared memory; no data if `memory` is empty.
[[nodiscard]] std::vector<HostField> named_fields(std::vector<FieldSpec> const& specs, std::vector<Shape> const& shapes,
                                                  std::vector<std::shared_ptr<unsigned char>> const& memory);

/// Calls body(begin, end) concurrently for ranges that together are [0, count). The threads are the threads of the
/// default host space, because memory is placed near the thread that touches it first. If that space has only one
/// thread, for_blocks is used.
void for_host_ranges(std::size_t count, std::function<void(std::size_t begin, std::size_t end)> const& body);

/// Replaces offsets of segments by others that are valid: they do not fall, and the first and the last one stay. Two
/// neighbours swap their lengths; if both are equal, the first one gives an element to the second one. So no segment
/// becomes much longer than the longest one.
void other_offsets(std::span<std::int64_t> offsets);

/// Puts other values into a field in a space's memory during its lifetime: zeros, which are valid in every field but
/// offsets. Up to 4 MiB it replaces the whole field; in a larger field it replaces 4 MiB in pieces spread over the
/// field, including its first and last bytes. The cost therefore has a bound for any size.
class OtherValues {
 public:
  static constexpr std::size_t most_bytes = std::size_t{1} << 22;  ///< of a field that are replaced

  OtherValues(std::string_view space, unsigned char* data, std::size_t bytes);
  /// Other offsets of segments: see other_offsets(). Only the first 4 MiB of a field change.
  [[nodiscard]] static std::unique_ptr<OtherValues> of_offsets(std::string_view space, unsigned char* data,
                                                               std::size_t bytes);
  ~OtherValues();
  OtherValues(OtherValues const&) = delete;
  OtherValues& operator=(OtherValues const&) = delete;

 private:
  OtherValues(std::string_view space, unsigned char* data, std::size_t bytes, void const* values);
  void exchange();

  std::string space_;
  unsigned char* data_;
  std::size_t words_;
  std::shared_ptr<unsigned char> others_;
};

/// A pool of host memory for results. Buffers are reused from row to row, because touching fresh pages takes longer
/// than the copy. A buffer that still has another owner is not reused.
class HostBuffers {
 public:
  [[nodiscard]] std::shared_ptr<unsigned char> take(std::size_t bytes);

 private:
  std::vector<std::pair<std::size_t, std::shared_ptr<unsigned char>>> buffers_;
};

/// The output of a row, with guard zones around each field, so that every run detects writes outside the fields.
class GuardedFields {
 public:
  /// Bytes before and after each field. The field starts at a multiple of it, as Kokkos' own allocations do.
  static constexpr std::size_t guard_bytes = 256;

  GuardedFields(std::string_view space, std::vector<FieldSpec> specs, std::vector<Shape> shapes);

  /// Returns the beginning of field `i`, in the space's memory.
  [[nodiscard]] unsigned char* data(std::size_t i) const;

  /// Writes NaN (or the most negative integer) to all elements, and the pattern to the guards. Blocking.
  void poison();

  /// Copies the named fields to the host, into memory of `buffers`; the other fields have no data. Without names it
  /// copies all fields. Throws std::runtime_error if a guard byte of any field was written.
  [[nodiscard]] std::vector<HostField> fetch(HostBuffers& buffers, std::vector<std::string> const& names = {}) const;

  /// Returns the same fields where they are, in memory that the host can read. Throws like fetch().
  [[nodiscard]] std::vector<HostField> in_place(std::vector<std::string> const& names = {}) const;

  /// Copies only the elements that `choose` selects in a field of `count` elements: see gather(). Throws like fetch().
  [[nodiscard]] std::vector<HostField> fetch_sample(
      std::function<std::vector<Stretch>(std::size_t count)> const& choose) const;

  /// The fields' memory without guards, one block per field.
  using Blocks = std::vector<std::shared_ptr<unsigned char>>;
  /// Copies the fields to `kept`, which is in the same space and is allocated if it is empty. Returns false, with an
  /// empty `kept`, if too little memory would remain for the next row.
  [[nodiscard]] bool keep(Blocks& kept) const;
  /// True if every bit of the fields equals `kept`; the comparison runs in the space. Throws like fetch().
  [[nodiscard]] bool same_bits(Blocks const& kept) const;

 private:
  void check_guards() const;
  // Returns the named fields with the data of field i from `data_of(i)`; without names all fields.
  template <class DataOf>
  [[nodiscard]] std::vector<HostField> named(std::vector<std::string> const& names, DataOf const& data_of) const;
  [[nodiscard]] std::size_t bytes(std::size_t field) const;

  std::string space_;
  std::vector<FieldSpec> specs_;
  std::vector<Shape> shapes_;
  std::vector<std::shared_ptr<unsigned char>> blocks_;  // guard, field, guard
};

}  // namespace tessera
