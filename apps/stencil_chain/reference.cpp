/// \file
/// The serial oracle of stencil_chain: stage by stage, in double for floats and in long double for doubles.
///
/// Error bound. All weights are positive, so the rounding errors of a chain of s operations are at most
/// ((1 + u)^s - 1) times the result of the same stages on the magnitudes (Higham, Accuracy and Stability of Numerical
/// Algorithms, 3.1): that result is the scale. A product that underflows is off by half a denormal. There are fewer
/// products than s on any way, and weights add up to at most 1.1; the dtype's smallest normal number, added to the
/// scale, covers them.
///
/// If a result of a stage may leave the dtype's range, nothing can be asked of the elements that depend on it: their
/// scale is infinite. A sum whose mean is in the range may leave it. Infinities and NaNs of the input have no
/// magnitude; results must have their class.
///
/// check() refuses integers; the reference accepts them because every dtype of a build needs a reference.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::stencil_chain {

// Not in an anonymous namespace: a lambda captures it, and g++ warns of that in units of joined files.
struct Mean {
  std::size_t reach;
  double factor;
};

namespace {

// Replaces each element by the factor times the mean of its neighbours, as far as there are any. `sums` is memory for
// as many elements.
template <class Real>
void apply(Mean const& mean, Real most, std::vector<Real>& values, std::vector<Real>& sums) {
  std::size_t const n = values.size();
  std::size_t const reach = mean.reach;
  // Adds the first neighbour of every element, then the second: elements do not wait for each other.
  std::ranges::fill(sums, Real(0));
  for (std::size_t k = 0; k <= 2 * reach; ++k) {  // element i - reach + k
    std::size_t const begin = reach - std::min(reach, k);
    std::size_t const end = n - std::min(n, k - std::min(reach, k));
    for (std::size_t i = begin; i < end; ++i) sums[i] += values[i + k - reach];
  }
  auto const finish = [&](std::size_t begin, std::size_t end, std::size_t count) {
    for (std::size_t i = begin; i < end; ++i) {
      Real const result = static_cast<Real>(mean.factor) * sums[i] / static_cast<Real>(count);
      sums[i] = result > most ? std::numeric_limits<Real>::infinity() : result;
    }
  };
  std::size_t const left = std::min(n, reach);
  std::size_t const right = std::max(left, n - left);
  auto const neighbours = [&](std::size_t i) { return std::min(n, i + reach + 1) - (i - std::min(i, reach)); };
  for (std::size_t i = 0; i < left; ++i) finish(i, i + 1, neighbours(i));
  finish(left, right, 2 * reach + 1);
  for (std::size_t i = right; i < n; ++i) finish(i, i + 1, neighbours(i));
  values.swap(sums);
}

}  // namespace

template <class T>
std::vector<ExpectedField> StencilChain::reference(Input<T, Kokkos::HostSpace> const& input) {
  using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // A result may be rounded up to the end of the range.
  constexpr Wide most = 0.99 * static_cast<double>(std::numeric_limits<T>::max());
  std::vector<Mean> stages{{0, static_cast<double>(static_cast<T>(1.1))}, {2, 1}, {1, 1}};
  if (input.parameters.chain == ChainKind::averages) {
    stages.assign(static_cast<std::size_t>(input.parameters.iterations), {1, 1});
  }
  std::size_t halo = 0;
  for (Mean const& mean : stages) halo += mean.reach;

  std::size_t const n = input.in.extent(0);
  BoundedElements<T> out("out", {n}, true);
  // Parts of the result are independent. Each part is a serial loop over its elements and its halo. Values that
  // miss elements beyond the halo do not reach the part.
  for_blocks(n, 1 << 15, [&](std::size_t, std::size_t begin, std::size_t end) {
    std::size_t const lo = begin - std::min(begin, halo);
    std::size_t const hi = end + std::min(n - end, halo);
    std::vector<Wide> values(hi - lo);
    std::vector<Wide> magnitudes(hi - lo);
    std::vector<Wide> sums(hi - lo);
    for (std::size_t i = lo; i < hi; ++i) {
      values[i - lo] = static_cast<Wide>(input.in(i));
      double const magnitude = std::abs(static_cast<double>(input.in(i)));
      magnitudes[i - lo] = std::isfinite(magnitude) ? magnitude : 0;
    }
    for (Mean const& mean : stages) {
      apply(mean, std::numeric_limits<Wide>::infinity(), values, sums);
      apply(mean, most, magnitudes, sums);
    }
    for (std::size_t i = begin; i < end; ++i) {
      auto const scale = static_cast<double>(magnitudes[i - lo]);
      out.set(i, {.value = static_cast<double>(values[i - lo]),
                  .scale = scale < infinity ? scale + static_cast<double>(std::numeric_limits<T>::min()) : infinity});
    }
  });
  return list_of(out.take());
}

}  // namespace tessera::stencil_chain

template struct tessera::References<tessera::stencil_chain::StencilChain>;
