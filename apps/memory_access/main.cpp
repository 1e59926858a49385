#include <tessera/driver/run.hpp>

namespace tessera::memory_access {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::memory_access::app, argc, argv); }
