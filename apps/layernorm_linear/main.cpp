#include <tessera/driver/run.hpp>

namespace tessera::layernorm_linear {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::layernorm_linear::app, argc, argv); }
