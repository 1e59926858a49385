#include <tessera/driver/run.hpp>

namespace tessera::roofline {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::roofline::app, argc, argv); }
