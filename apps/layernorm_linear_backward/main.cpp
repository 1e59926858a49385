#include <tessera/driver/run.hpp>

namespace tessera::layernorm_linear_backward {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::layernorm_linear_backward::app, argc, argv); }
