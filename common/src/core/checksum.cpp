#include <tessera/core/checksum.hpp>

#include <bit>
#include <cstring>
#include <vector>

#include <tessera/core/host_threads.hpp>

namespace tessera {

std::uint64_t checksum_of_array(void const* bytes, std::size_t count) {
  constexpr std::size_t block = std::size_t{1} << 20;
  auto const* const from = static_cast<unsigned char const*>(bytes);
  std::vector<std::uint64_t> of_blocks(blocks_in(count, block));
  for_blocks(count, block, [&](std::size_t i, std::size_t begin, std::size_t end) {
    std::uint64_t value = end - begin;
    // The rotation carries a word's sign bit to where the next product spreads it.
    auto const add = [&](std::size_t at, std::size_t size) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + at, size);
      value = std::rotl((value ^ word) * 0x9e3779b97f4a7c15, 31);
    };
    std::size_t at = begin;
    for (; end - at >= sizeof value; at += sizeof value) add(at, sizeof value);
    if (at < end) add(at, end - at);
    of_blocks[i] = value;
  });
  Checksum all;
  all.add(of_blocks.data(), of_blocks.size() * sizeof(std::uint64_t));
  return all.value();
}

}  // namespace tessera
