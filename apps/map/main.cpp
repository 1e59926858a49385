#include <tessera/driver/run.hpp>

namespace tessera::map {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::map::app, argc, argv); }
