#include <tessera/driver/run.hpp>

namespace tessera::prefix_sum {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::prefix_sum::app, argc, argv); }
