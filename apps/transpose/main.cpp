#include <tessera/driver/run.hpp>

namespace tessera::transpose {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::transpose::app, argc, argv); }
