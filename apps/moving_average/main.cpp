#include <tessera/driver/run.hpp>

namespace tessera::moving_average {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::moving_average::app, argc, argv); }
