#pragma once
/// \file
/// The input of Problems whose results follow from their parameters only.

#include <array>
#include <string_view>
#include <tuple>

namespace tessera {

/// An Input without fields. The number of elements is a parameter: count_parameter() of core/parameters.hpp.
template <class ProblemParameters>
struct NoInput {
  ProblemParameters parameters;

  static constexpr std::array<std::string_view, 0> names{};
  static auto fields(auto const&) { return std::tie(); }
};

}  // namespace tessera
