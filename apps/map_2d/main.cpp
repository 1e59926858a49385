#include <tessera/driver/run.hpp>

namespace tessera::map_2d {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::map_2d::app, argc, argv); }
