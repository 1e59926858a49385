#include <tessera/driver/run.hpp>

namespace tessera::bias_add {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::bias_add::app, argc, argv); }
