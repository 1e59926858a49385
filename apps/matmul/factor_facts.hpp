#pragma once
/// \file
/// For variants whose factors have fewer bits: how well these factors represent the elements of a matrix.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/core/spaces.hpp>

namespace tessera::matmul {

/// How well the factors of a row of the table represent an element.
enum class Fit { exactly, rounded, small, outside };

struct FactorFacts {
  std::size_t rounded = 0;  ///< elements that are not represented exactly, including small elements
  std::size_t small = 0;    ///< elements that are too small to keep all bits; their error is absolute
  std::size_t outside = 0;  ///< elements that the row cannot take, including NaN and infinities
  float largest = 0;        ///< the largest magnitude of an element
};

/// Counts the elements of a matrix by `Rule::fit(value, magnitude)`.
template <class Rule, ExecutionSpace Exec, class Matrix>
[[nodiscard]] FactorFacts facts_of(Exec const& exec, Matrix const& matrix) {
  FactorFacts facts;
  Kokkos::parallel_reduce(
      "tessera::matmul::facts_of", over(exec, matrix.size()),
      KOKKOS_LAMBDA(std::size_t i, std::size_t& rounded, std::size_t& small, std::size_t& outside, float& largest) {
        float const value = matrix.data()[i];
        float const magnitude = value < 0 ? -value : value;
        Fit const fit = Rule::fit(value, magnitude);
        rounded += fit == Fit::exactly ? 0 : 1;
        small += fit == Fit::small ? 1 : 0;
        outside += fit == Fit::outside ? 1 : 0;
        if (magnitude > largest) largest = magnitude;
      },
      Kokkos::Sum<std::size_t>(facts.rounded), Kokkos::Sum<std::size_t>(facts.small),
      Kokkos::Sum<std::size_t>(facts.outside), Kokkos::Max<float>(facts.largest));
  return facts;
}

}  // namespace tessera::matmul
