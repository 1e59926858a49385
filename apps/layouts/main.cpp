#include <tessera/driver/run.hpp>

namespace tessera::layouts {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::layouts::app, argc, argv); }
