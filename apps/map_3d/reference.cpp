/// \file
/// The serial oracle of map_3d: one addition an element, in double, or in 64 bits and wrapped.
///
/// Error bound: none. The sum of two floats in double, rounded to float, is their float sum; that of doubles is itself.

#include <cstdint>
#include <type_traits>
#include <utility>

#include "problem.hpp"

namespace tessera::map_3d {

template <class T>
std::vector<ExpectedField> Map3d::reference(Input<T, Kokkos::HostSpace> const& input) {
  Shape const shape{input.a.extent(0), input.a.extent(1), input.a.extent(2)};
  ExpectedField out{.name = "out", .shape = shape, .value = {}, .scale = {}};
  out.value.reserve(count_of(shape));
  T const c = static_cast<T>(input.parameters.c);
  for (std::size_t plane = 0; plane < shape[0]; ++plane) {
    for (std::size_t row = 0; row < shape[1]; ++row) {
      for (std::size_t col = 0; col < shape[2]; ++col) {
        T const a = input.a(plane, row, col);
        if constexpr (std::is_integral_v<T>) {
          std::int64_t const sum = std::int64_t{a} + std::int64_t{c};
          out.value.push_back(static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum))));
        } else {
          out.value.push_back(static_cast<double>(a) + static_cast<double>(c));
        }
      }
    }
  }
  return list_of(std::move(out));
}

template std::vector<ExpectedField> Map3d::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Map3d::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Map3d::reference(Input<std::int32_t, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Map3d::reference(Input<Half, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Map3d::reference(Input<BFloat16, Kokkos::HostSpace> const&);

}  // namespace tessera::map_3d
