#include <tessera/driver/run.hpp>

namespace tessera::conv1d {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::conv1d::app, argc, argv); }
