#include <tessera/driver/run.hpp>

namespace tessera::layernorm {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::layernorm::app, argc, argv); }
