#include <tessera/driver/run.hpp>

namespace tessera::dot {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::dot::app, argc, argv); }
