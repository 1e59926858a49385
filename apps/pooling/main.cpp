#include <tessera/driver/run.hpp>

namespace tessera::pooling {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::pooling::app, argc, argv); }
