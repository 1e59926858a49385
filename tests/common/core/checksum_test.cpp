// A checksum stands for the bits of a result: whatever changes in a result must change it.

#include <tessera/core/checksum.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace tessera {
namespace {

std::uint64_t of(std::vector<unsigned char> const& bytes) { return checksum_of_array(bytes.data(), bytes.size()); }

TEST(ChecksumOfArray, EveryBitCounts) {
  for (std::size_t const n : {1UL, 7UL, 8UL, 9UL, 4096UL, (1UL << 20) + 3, (3UL << 20)}) {
    std::vector<unsigned char> bytes(n, 0x3F);
    std::uint64_t const right = of(bytes);
    EXPECT_EQ(of(bytes), right);
    for (std::size_t const at : {std::size_t{0}, n / 3, n / 2, n - 1}) {
      for (int bit = 0; bit < 8; ++bit) {
        bytes[at] ^= static_cast<unsigned char>(1 << bit);
        EXPECT_NE(of(bytes), right) << "bit " << bit << " of byte " << at << " of " << n;
        bytes[at] ^= static_cast<unsigned char>(1 << bit);
      }
    }
  }
}

// Changes that a weak sum would cancel: two signs, two elements exchanged, zeros behind the end.
TEST(ChecksumOfArray, ChangesDoNotCancel) {
  std::vector<unsigned char> bytes(5 << 20);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256);
  std::set<std::uint64_t> seen{of(bytes)};
  for (std::size_t const apart : {4UL, 8UL, 64UL, 1UL << 20, 4UL << 20}) {
    auto signs = bytes;
    signs[1003] ^= 0x80;
    signs[1003 + apart] ^= 0x80;
    auto exchanged = bytes;
    for (std::size_t i = 0; i < 4; ++i) std::swap(exchanged[1000 + i], exchanged[1001 + apart + i]);
    EXPECT_TRUE(seen.insert(of(signs)).second) << apart;
    EXPECT_TRUE(seen.insert(of(exchanged)).second) << apart;
  }
  bytes.push_back(0);
  EXPECT_TRUE(seen.insert(of(bytes)).second);
  EXPECT_NE(of({}), of({0}));
}

}  // namespace
}  // namespace tessera
