#include <tessera/driver/run.hpp>

namespace tessera::conv2d {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::conv2d::app, argc, argv); }
