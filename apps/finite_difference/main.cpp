#include <tessera/driver/run.hpp>

namespace tessera::finite_difference {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::finite_difference::app, argc, argv); }
