#include <tessera/driver/run.hpp>

namespace tessera::histogram {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::histogram::app, argc, argv); }
