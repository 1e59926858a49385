#pragma once
/// \file
/// Checksums to compare copies of data. They are not cryptographic.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tessera {

/// The 64-bit FNV-1a hash of all added bytes, in the order in which they were added.
class Checksum {
 public:
  void add(void const* bytes, std::size_t count) {
    auto const* const begin = static_cast<unsigned char const*>(bytes);
    for (std::size_t i = 0; i < count; ++i) value_ = (value_ ^ begin[i]) * 0x100000001b3;
  }
  void add(std::string_view text) { add(text.data(), text.size()); }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// Returns a 64-bit checksum of a large array, at the speed of memory: by words, on all cores. It does not depend on
/// their number.
[[nodiscard]] std::uint64_t checksum_of_array(void const* bytes, std::size_t count);

}  // namespace tessera
