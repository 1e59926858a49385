#include <tessera/driver/run.hpp>

namespace tessera::embedding {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::embedding::app, argc, argv); }
