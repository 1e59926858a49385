#include <tessera/driver/run.hpp>

namespace tessera::axis_sum {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::axis_sum::app, argc, argv); }
