#include <tessera/driver/run.hpp>

namespace tessera::broadcast_add {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::broadcast_add::app, argc, argv); }
