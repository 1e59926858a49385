#include "linear_layer.hpp"

namespace tessera::testing {

AppCases app_cases() {
  return linear_layer_cases([](std::size_t, std::size_t outputs) { return Shape{outputs}; });
}

}  // namespace tessera::testing
