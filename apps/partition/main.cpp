#include <tessera/driver/run.hpp>

namespace tessera::partition {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::partition::app, argc, argv); }
