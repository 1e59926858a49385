#pragma once
/// \file
/// Checksums to compare copies of data. They are not cryptographic.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <tessera/core/host_threads.hpp>

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
/// their number. The rotation carries a word's sign bit to where the next product spreads it.
[[nodiscard]] inline std::uint64_t checksum_of_array(void const* bytes, std::size_t count) {
  constexpr std::size_t block = std::size_t{1} << 20;
  auto const* const from = static_cast<unsigned char const*>(bytes);
  std::vector<std::uint64_t> of_blocks(blocks_in(count, block));
  for_blocks(count, block, [&](std::size_t i, std::size_t begin, std::size_t end) {
    std::uint64_t value = end - begin;
    for (std::size_t at = begin; at < end; at += sizeof value) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + at, end - at < sizeof word ? end - at : sizeof word);
      value = std::rotl((value ^ word) * 0x9e3779b97f4a7c15, 31);
    }
    of_blocks[i] = value;
  });
  Checksum all;
  all.add(of_blocks.data(), of_blocks.size() * sizeof(std::uint64_t));
  return all.value();
}

}  // namespace tessera
