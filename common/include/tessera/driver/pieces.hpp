#pragma once
/// \file
/// How results that are in a device's memory are compared.

#include <cstddef>

namespace tessera {

/// Number of bytes of a device's result that are fetched and compared at a time. A piece stays in the same memory; a
/// result of gigabytes would need fresh pages for each case. Only tests change the value.
[[nodiscard]] std::size_t& piece_bytes();

}  // namespace tessera
