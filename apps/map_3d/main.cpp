#include <tessera/driver/run.hpp>

namespace tessera::map_3d {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::map_3d::app, argc, argv); }
