#include "linear_layer.hpp"

namespace tessera::testing {

AppCases app_cases() {
  return linear_layer_cases([](std::size_t rows, std::size_t outputs) { return Shape{rows, outputs}; });
}

}  // namespace tessera::testing
