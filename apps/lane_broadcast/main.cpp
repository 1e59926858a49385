#include <tessera/driver/run.hpp>

namespace tessera::lane_broadcast {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::lane_broadcast::app, argc, argv); }
