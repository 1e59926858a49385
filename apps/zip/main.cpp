#include <tessera/driver/run.hpp>

namespace tessera::zip {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::zip::app, argc, argv); }
