#pragma once
/// \file
/// The memory of cases and rows: bytes, by the name of an execution space. No template and no Kokkos, so that it is
/// compiled once (tessera::runtime) and not with every variant.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>
#include <tessera/verify/sample.hpp>

namespace tessera {

/// Memory of the kind that an execution space uses by default, not initialised. It is freed with its last owner.
/// `label` is what Kokkos' tools call it.
[[nodiscard]] std::shared_ptr<unsigned char> allocate_in(std::string_view space, std::size_t bytes,
                                                         std::string const& label);

/// Host memory, for what the threads of the default host space will touch first.
[[nodiscard]] std::shared_ptr<unsigned char> allocate_on_host(std::size_t bytes, std::string const& label);

/// Copies from host memory to that of a space; done when it returns.
void copy_from_host(std::string_view space, void* to, void const* from, std::size_t bytes);

/// Copies from the memory of a space to host memory; done when it returns.
void copy_to_host(std::string_view space, void* to, void const* from, std::size_t bytes);

/// Host memory for fields of these shapes, one after the other.
[[nodiscard]] std::vector<std::shared_ptr<unsigned char>> host_memory_of(std::vector<FieldSpec> const& specs,
                                                                         std::vector<Shape> const& shapes);

/// Copies of fields in the memory of a space, one after the other.
[[nodiscard]] std::vector<std::shared_ptr<unsigned char>> copies_in(std::string_view space,
                                                                    std::vector<HostField> const& fields);

/// Fields as plain data: names, dtypes and shapes, and the memory, which is shared; no data where `memory` is empty.
[[nodiscard]] std::vector<HostField> named_fields(std::vector<FieldSpec> const& specs, std::vector<Shape> const& shapes,
                                                  std::vector<std::shared_ptr<unsigned char>> const& memory);

/// Calls body(begin, end) for ranges that together are [0, count), side by side. The threads are those of the default
/// host space, because memory belongs to the thread that touches it first. Where that space has only one, for_blocks
/// does it.
void for_host_ranges(std::size_t count, std::function<void(std::size_t begin, std::size_t end)> const& body);

/// Other values in a field in the memory of a space, from construction to destruction: zeros, which every field may hold.
/// Up to 4 MiB all of it, of a larger field as much in pieces that are spread over it, the first and the last bytes among
/// them, so that it costs the same at any size.
class OtherValues {
 public:
  OtherValues(std::string_view space, unsigned char* data, std::size_t bytes);
  ~OtherValues();
  OtherValues(OtherValues const&) = delete;
  OtherValues& operator=(OtherValues const&) = delete;

 private:
  void exchange();

  std::string space_;
  unsigned char* data_;
  std::size_t words_;
  std::shared_ptr<unsigned char> others_;
};

/// Host memory for results. It is kept from row to row, because touching fresh pages takes longer than the copy. Memory
/// that somebody still holds is not given out again.
class HostBuffers {
 public:
  [[nodiscard]] std::shared_ptr<unsigned char> take(std::size_t bytes);

 private:
  std::vector<std::pair<std::size_t, std::shared_ptr<unsigned char>>> buffers_;
};

/// The output of a row, each field between guard zones, so that a write outside of them is seen on every run and not
/// only in a test.
class GuardedFields {
 public:
  /// Bytes before and after each field. The field starts on a multiple of it, as Kokkos' own allocations do.
  static constexpr std::size_t guard_bytes = 256;

  GuardedFields(std::string_view space, std::vector<FieldSpec> specs, std::vector<Shape> shapes);

  /// Where field `i` begins, in the space's memory.
  [[nodiscard]] void* data(std::size_t i) const;

  /// NaN (or the most negative integer) everywhere, the pattern in the guards. Done when it returns.
  void poison();

  /// Copies the fields of these names to the host, into memory of `buffers`; the others have no data. No name: all fields.
  /// Throws std::runtime_error if a guard byte was written, also of the others.
  [[nodiscard]] std::vector<HostField> fetch(HostBuffers& buffers, std::vector<std::string> const& names = {}) const;

  /// Copies only the elements that `choose` names for a field of `count` elements: see gather(). Throws like fetch().
  [[nodiscard]] std::vector<HostField> fetch_sample(
      std::function<std::vector<Stretch>(std::size_t count)> const& choose) const;

  /// The fields' memory without guards, one block a field.
  using Blocks = std::vector<std::shared_ptr<unsigned char>>;
  /// Copies the fields to `kept`, which is in the same space and is made if it is empty. False, and `kept` is empty, where
  /// that would leave too little memory for the next row.
  [[nodiscard]] bool keep(Blocks& kept) const;
  /// True if every bit of the fields is as in `kept`; the space itself compares them. Throws like fetch().
  [[nodiscard]] bool same_bits(Blocks const& kept) const;

 private:
  void check_guards(std::size_t field) const;
  [[nodiscard]] std::size_t bytes(std::size_t field) const;

  std::string space_;
  std::vector<FieldSpec> specs_;
  std::vector<Shape> shapes_;
  std::vector<std::shared_ptr<unsigned char>> blocks_;  // guard, field, guard
};

}  // namespace tessera
