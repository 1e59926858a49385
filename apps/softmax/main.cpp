#include <tessera/driver/run.hpp>

namespace tessera::softmax {
App app();
}

int main(int argc, char** argv) { return tessera::run_app(tessera::softmax::app, argc, argv); }
