/// \file
/// The serial oracle of embedding: one loop over the positions, one over a row. Elements are copied, so that nothing
/// may differ: the scale is empty.

#include <cstdint>
#include <utility>

#include "problem.hpp"

namespace tessera::embedding {

template <class T>
std::vector<ExpectedField> Embedding::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const batch = input.idx.extent(0);
  std::size_t const length = input.idx.extent(1);
  std::size_t const width = input.w.extent(1);
  ExpectedField out{.name = "out",
                    .shape = {batch, length, width},
                    .value = std::vector<double>(batch * length * width),
                    .scale = {}};
  auto next = out.value.begin();
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t s = 0; s < length; ++s) {
      std::int64_t const index = input.idx(b, s);
      bool const is_there = index >= 0 && index < static_cast<std::int64_t>(input.w.extent(0));
      for (std::size_t e = 0; e < width; ++e) *next++ = is_there ? static_cast<double>(input.w(index, e)) : 0.0;
    }
  }
  return list_of(std::move(out));
}

template std::vector<ExpectedField> Embedding::reference(Input<float, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Embedding::reference(Input<double, Kokkos::HostSpace> const&);
template std::vector<ExpectedField> Embedding::reference(Input<std::int32_t, Kokkos::HostSpace> const&);

}  // namespace tessera::embedding
