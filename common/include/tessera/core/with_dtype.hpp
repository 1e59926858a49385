#pragma once
/// \file
/// From a dtype to its C++ type and bits.

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include <tessera/core/types.hpp>

namespace tessera {

/// The unsigned integer with as many bits as an element of type T.
template <class T>
using WordOf =
    std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

/// Returns `body.template operator()<T>()` for the dtype's C++ type T.
template <class Body>
decltype(auto) with_dtype(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::float32: return body.template operator()<float>();
    case DType::float64: return body.template operator()<double>();
    case DType::int32: return body.template operator()<std::int32_t>();
    case DType::int64: return body.template operator()<std::int64_t>();
    case DType::float16: return body.template operator()<Half>();
    case DType::bfloat16: return body.template operator()<BFloat16>();
    case DType::uint32: return body.template operator()<std::uint32_t>();
    case DType::uint64: return body.template operator()<std::uint64_t>();
  }
  throw std::logic_error("unknown dtype");
}

}  // namespace tessera
