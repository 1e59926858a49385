#pragma once
/// \file
/// What to try with each mini-app: parameters beside its defaults, and shapes drawn at random.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera::testing {

/// What every test of a mini-app starts from: its defaults, but where they take long for nothing.
[[nodiscard]] ParameterMap base_parameters(std::string_view app);

/// Parameters to try beside the defaults. Small tiles make many tiles and levels of few elements.
[[nodiscard]] std::vector<ParameterMap> parameters_of(std::string_view app);

/// Shapes of the input fields, in their order, with parameters that suit them.
struct RandomCase {
  std::vector<Shape> shapes;
  ParameterMap parameters;
};

/// A function of the app and the number of the draw alone.
[[nodiscard]] RandomCase random_case(App const& app, std::uint64_t draw);

/// False if the mini-app refuses these parameters with this dtype (a mean of integers) or with this size (two rows of
/// one element).
[[nodiscard]] bool takes(App const& app, DType dtype, ParameterMap const& given, std::size_t size = 64);

}  // namespace tessera::testing
