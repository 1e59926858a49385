/// \file
/// The serial oracle of conv2d (verify/convolution.hpp). An output has at most min(H, Ky) * min(W, Kx) products.

#include "problem.hpp"

#include <tessera/table/references.hpp>
#include <tessera/verify/convolution.hpp>

namespace tessera::conv2d {

template <class T>
std::vector<ExpectedField> Conv2d::reference(Input<T, Kokkos::HostSpace> const& input) {
  return list_of(verify::convolution<T>(input.in, input.k));
}

}  // namespace tessera::conv2d

template struct tessera::References<tessera::conv2d::Conv2d>;
