#include <tessera/driver/run.hpp>

namespace tessera::butterfly {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::butterfly::app, argc, argv); }
