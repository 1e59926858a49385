#include <tessera/driver/run.hpp>

namespace tessera::matmul {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::matmul::app, argc, argv); }
