#include <tessera/driver/run.hpp>

namespace tessera::attention {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::attention::app, argc, argv); }
