/// \file
/// The serial oracle of conv1d: the convolution of a matrix of one row (verify/convolution.hpp). An output has at most
/// as many products as k has elements.

#include <utility>

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/convolution.hpp>

namespace tessera::conv1d {

template <class T>
std::vector<ExpectedField> Conv1d::reference(Input<T, Kokkos::HostSpace> const& input) {
  using Row = Array<T const**, Kokkos::HostSpace>;
  ExpectedField out =
      verify::convolution<T>(Row(input.a.data(), 1, input.a.extent(0)), Row(input.k.data(), 1, input.k.extent(0)));
  out.shape = {input.a.extent(0)};
  return list_of(std::move(out));
}

}  // namespace tessera::conv1d

template struct tessera::References<tessera::conv1d::Conv1d>;
